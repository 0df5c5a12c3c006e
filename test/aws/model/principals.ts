import { AwsError } from './errors.ts';
import { matchesGlob } from './trust.ts';
import type { ModelEnv } from './env.ts';
import { partitionOf } from './partition.ts';

export type Service = 'eks' | 'iam' | 'sts';

export interface Session {
  readonly roleArn: string;
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly inlinePolicy?: string;
  readonly policyArns: readonly string[];
}

/** Who is behind an access key id. */
export interface Principal {
  readonly accessKeyId: string;
  readonly arn: string;
  readonly userId: string;
  readonly account: string;
  readonly partition: string;
  /** What it makes counts as put there by the test. */
  readonly foreign: boolean;
  readonly session?: Session;
}

export interface Credentials {
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
 * Refuses an action. `principal` is a glob over access key id, ARN, account id or, for a session, the ARN of its role;
 * `action` and `resource` are globs as in a policy.
 */
export interface Denial {
  readonly principal: string;
  readonly action: string;
  readonly resource?: string;
  /** AWS words an explicit Deny differently from the absence of an Allow. */
  readonly explicit?: boolean;
}

export interface PresentedKey {
  readonly accessKeyId: string;
  readonly sessionToken?: string;
  /** Where the call is sent; a key is unknown outside its partition. Absent: anywhere. */
  readonly region?: string;
}

export class Principals {
  readonly #env: ModelEnv;
  readonly #byKey = new Map<string, Principal>();
  #denials: readonly Denial[] = [];

  constructor(env: ModelEnv) {
    this.#env = env;
  }

  register(request: KeyRequest): Credentials {
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

  deny(denial: Denial): void {
    this.#denials = [...this.#denials, denial];
  }

  /** Without an argument: everything is allowed again. */
  allow(action?: string): void {
    this.#denials = action === undefined ? [] : this.#denials.filter((denial) => denial.action !== action);
  }

  /** Throws what the service says to credentials that it does not know or that ran out. */
  authenticate(service: Service, key: PresentedKey, now: number): Principal {
    const principal = this.#byKey.get(key.accessKeyId);
    const here = key.region === undefined || partitionOf(key.region) === principal?.partition;
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

  #denialOf(principal: Principal, action: string, resource: string): Denial | undefined {
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

  /** Throws AccessDenied in the service's type when the action is denied to the principal. */
  authorize(service: Service, principal: Principal, action: string, resource: string): void {
    const denial = this.#denialOf(principal, action, resource);
    if (denial === undefined) return;
    const because =
      denial.explicit === true
        ? 'with an explicit deny in an identity-based policy'
        : `because no identity-based policy allows the ${action} action`;
    throw new AwsError(
      service === 'eks' ? 'AccessDeniedException' : 'AccessDenied',
      403,
      `User: ${principal.arn} is not authorized to perform: ${action} on resource: ${resource} ${because}`,
    );
  }
}
