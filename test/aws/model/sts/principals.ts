import { AwsError } from '../errors.ts';
import { matchesGlob } from '../iam/trust-policy.ts';
import type { ModelEnv } from '../env.ts';
import { partitionOf } from '../partition.ts';

/** An AWS service, by its prefix in the names of IAM actions. */
export type Service = 'eks' | 'iam' | 'sts' | 'ec2' | 'servicequotas' | 'cloudwatch';

/** Whether the service answers in JSON. The other services answer in XML. */
export const isJson = (service: Service): boolean => service === 'eks' || service === 'servicequotas';

export interface RoleSession {
  readonly roleArn: string;
  readonly token: string;
  /** The time when the session expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The IAM user or role session to which an access key belongs. */
export interface Principal {
  readonly accessKeyId: string;
  readonly arn: string;
  readonly userId: string;
  readonly account: string;
  readonly partition: string;
  /**
   * Whether the principal is another AWS user and not the manager. The check for resources that the manager has left
   * behind ignores the resources of such a user.
   */
  readonly foreign: boolean;
  readonly session?: RoleSession;
}

export interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly arn: string;
  readonly account: string;
}

export interface KeyRequest {
  readonly account: string;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly userName?: string;
  readonly partition?: string;
  readonly foreign?: boolean;
}

/**
 * An action that the AWS emulator denies. `principal` is a pattern for the access key id, ARN or account id of the
 * caller, or for the role ARN of a session. `action` and `resource` are patterns as in an IAM policy.
 */
export interface Denial {
  readonly principal: string;
  readonly action: string;
  readonly resource?: string;
  /**
   * Whether the error message of AWS names an explicit Deny. Otherwise the message says that no policy allows the
   * action.
   */
  readonly explicit?: boolean;
}

export interface PresentedCredentials {
  readonly accessKeyId: string;
  readonly sessionToken?: string;
  /**
   * The region of the AWS endpoint that gets the credentials; undefined: the emulator does not check the region. An
   * access key is valid only in the regions of its own partition.
   */
  readonly region?: string;
}

export class Principals {
  readonly #env: ModelEnv;
  readonly #byKey = new Map<string, Principal>();
  #denials: readonly Denial[] = [];
  readonly #disabledRegions = new Set<string>();

  constructor(env: ModelEnv) {
    this.#env = env;
  }

  register(request: KeyRequest): AccessKey {
    const accessKeyId = request.accessKeyId ?? this.#env.id('AKIA', 20);
    const partition = request.partition ?? 'aws';
    const userName = request.userName ?? accessKeyId.toLowerCase();
    const arn = `arn:${partition}:iam::${request.account}:user/${userName}`;
    this.#byKey.set(accessKeyId, {
      accessKeyId,
      arn,
      userId: this.#env.id('AIDA', 21),
      account: request.account,
      partition,
      foreign: request.foreign ?? false,
    });
    const secretAccessKey = request.secretAccessKey ?? this.#env.id('', 40);
    return { accessKeyId, secretAccessKey, arn, account: request.account };
  }

  remove(accessKeyId: string): void {
    this.#byKey.delete(accessKeyId);
  }

  addSession(principal: Principal): void {
    this.#byKey.set(principal.accessKeyId, principal);
  }

  expireSessions(now: number): void {
    for (const [key, principal] of this.#byKey) {
      if (principal.session === undefined) continue;
      this.#byKey.set(key, { ...principal, session: { ...principal.session, expiresAt: now } });
    }
  }

  list(): readonly Principal[] {
    return [...this.#byKey.values()];
  }

  /** Enables or disables an AWS region for all accounts. A disabled region refuses all credentials as unknown. */
  setRegionEnabled(region: string, enabled: boolean): void {
    if (enabled) this.#disabledRegions.delete(region);
    else this.#disabledRegions.add(region);
  }

  deny(denial: Denial): void {
    this.#denials = [...this.#denials, denial];
  }

  /** Ends the denials that were added with `deny` for exactly this action. Without an action, ends all denials. */
  allow(action?: string): void {
    this.#denials = action === undefined ? [] : this.#denials.filter((denial) => denial.action !== action);
  }

  /**
   * Returns the principal to which the credentials belong.
   * @throws the error of the AWS service for unknown or expired credentials
   */
  authenticate(service: Service, key: PresentedCredentials, now: number): Principal {
    const principal = this.#byKey.get(key.accessKeyId);
    const here =
      key.region === undefined ||
      (partitionOf(key.region) === principal?.partition && !this.#disabledRegions.has(key.region));
    if (principal === undefined || !here || principal.session?.token !== key.sessionToken) {
      throw new AwsError(
        service === 'eks' ? 'UnrecognizedClientException' : 'InvalidClientTokenId',
        403,
        'The security token included in the request is invalid.',
      );
    }
    if (principal.session !== undefined && principal.session.expiresAt <= now) {
      throw new AwsError(
        service === 'eks' ? 'ExpiredTokenException' : 'ExpiredToken',
        403,
        'The security token included in the request is expired',
      );
    }
    return principal;
  }

  #denialOf(
    principal: Pick<Principal, 'arn' | 'account'> & Partial<Principal>,
    action: string,
    resource: string,
  ): Denial | undefined {
    const names = [principal.accessKeyId, principal.arn, principal.account, principal.session?.roleArn];
    return this.#denials.find(
      (denial) =>
        matchesGlob(denial.action.toLowerCase(), action.toLowerCase()) &&
        matchesGlob(denial.resource ?? '*', resource) &&
        names.some((name) => name !== undefined && matchesGlob(denial.principal, name)),
    );
  }

  isDenied(principal: Principal, action: string, resource: string): boolean {
    return this.#denialOf(principal, action, resource) !== undefined;
  }

  /** Returns the decision in the terms of IAM's policy simulator; undefined: no test has denied the action. */
  decisionAbout(
    principal: Pick<Principal, 'arn' | 'account'>,
    action: string,
    resource: string,
  ): 'explicitDeny' | 'implicitDeny' | undefined {
    const denial = this.#denialOf(principal, action, resource);
    return denial && (denial.explicit === true ? 'explicitDeny' : 'implicitDeny');
  }

  /** @throws the AccessDenied error of the AWS service if a test has denied the action for this principal */
  authorize(service: Service, principal: Principal, action: string, resource: string): void {
    const denial = this.#denialOf(principal, action, resource);
    if (denial === undefined) return;
    if (denial.explicit !== true) throw missingAllow(service, principal, action, resource);
    throw accessDenied(service, principal, action, resource, 'with an explicit deny in an identity-based policy');
  }
}

/** Returns the error of the AWS service for an action that no identity-based policy allows. */
export function missingAllow(service: Service, principal: Principal, action: string, resource: string): AwsError {
  const because = `because no identity-based policy allows the ${action} action`;
  return accessDenied(service, principal, action, resource, because);
}

function accessDenied(
  service: Service,
  { arn }: Principal,
  action: string,
  resource: string,
  because: string,
): AwsError {
  const code = service === 'ec2' ? 'UnauthorizedOperation' : isJson(service) ? 'AccessDeniedException' : 'AccessDenied';
  return new AwsError(
    code,
    403,
    `User: ${arn} is not authorized to perform: ${action} on resource: ${resource} ${because}`,
  );
}
