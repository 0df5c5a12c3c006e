import * as E from 'fp-ts/lib/Either.js';
import type { Ms } from 'controller-runtime/env';
import type { AwsConfig } from '../session.ts';
import { newClients } from '../call/sdk-clients.ts';
import type { CallerAccounts } from './caller-identity.ts';
import type { AwsCredentials, AwsCredentialSource } from './credential-pool.ts';
import { isAccessDenied, isCredentialsInvalid, isRefused } from '../errors/error-codes.ts';
import type { AwsFailure } from '../errors/failure.ts';
import { partitionOfArn, stsRegionOf } from '../partition.ts';
import { NoCredentials } from '../errors/sdk-failure.ts';
import { assumeRole, stsCalls, type RoleToAssume } from '../sts/sts-api.ts';
import { describeCredentials } from './identity-ref.ts';
import { rejectedCredentials, type CredentialsProblem } from './credentials-problem.ts';

export interface AssumedRoleConfig extends AwsConfig {
  readonly accounts: Pick<CallerAccounts, 'verify'>;
  /**
   * The manager's region, if known. STS is called there if the role is in the same partition, because a private network
   * may reach no other STS endpoint.
   */
  readonly region: string | undefined;
}

interface AssumedRoleRequest {
  /** Sources with the same key return credentials of the same identity. */
  readonly key: string;
  readonly role: RoleToAssume;
  readonly base: AwsCredentialSource;
  /** For messages, the owner of the credentials that assume the role, such as `AWSClusterStaticIdentity "team-a"`. */
  readonly baseName: string;
  /** For messages, the object that names the role, such as `AWSClusterRoleIdentity "team-b"`. */
  readonly namedBy?: string;
}

/**
 * AWS's maximum for "role chaining": assuming a role with another role's credentials. Credentials from IAM roles for
 * service accounts, EKS Pod Identity, and instance profiles are such credentials:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
 */
const MAX_CHAINED_SESSION_SECONDS = 3_600;

/** Longer than all steps of the fetch together, so that a hanging step fails first, with its own error. */
const FETCH_DEADLINE: Ms = 40_000;

/**
 * Returns a source that assumes `role` with the `base` credentials. If this fails, the error names the role and the
 * owner of the `base` credentials. If AWS rejects the `base` credentials themselves, the error names only their owner.
 */
export function newAssumedRoleSource(
  config: AssumedRoleConfig,
  { key, role, base, baseName, namedBy }: AssumedRoleRequest,
): AwsCredentialSource {
  const { transport, endpoints, pool, version, accounts } = config;
  const partition = partitionOfArn(role.arn);
  const region = stsRegionOf(partition, config.region);
  // All fetches share one client, because it learns from STS by how much this machine's clock is wrong.
  const clients = newClients({ region, transport, endpoints, version, credentials: () => pool.get(base) });

  return {
    key,
    partition,
    deadline: FETCH_DEADLINE,
    async fetch(signal) {
      const credentials = await pool.get(base);
      const call = stsCalls(config, base, region, signal, { role: role.arn });
      const session = await assumeRole(clients.sts, call, {
        ...role,
        durationSeconds: sessionSeconds(role, credentials),
      });
      if (E.isRight(session)) return session.right;
      const failure = session.left;
      if (isCredentialsInvalid(failure)) await accounts.verify(base, credentials, { region, failure });
      throw new NoCredentials(
        toCredentialsProblem(failure, namedBy === undefined ? role.arn : `${role.arn} of ${namedBy}`, baseName),
      );
    },
  };
}

const sessionSeconds = ({ durationSeconds }: RoleToAssume, { sessionToken }: AwsCredentials): number =>
  sessionToken === undefined ? durationSeconds : Math.min(durationSeconds, MAX_CHAINED_SESSION_SECONDS);

function toCredentialsProblem(failure: AwsFailure, role: string, baseName: string): CredentialsProblem {
  if (isCredentialsInvalid(failure)) return rejectedCredentials(failure, baseName);
  const message = `${describeCredentials(baseName)} cannot assume role ${role}`;
  if (isAccessDenied(failure)) return { reason: 'AssumeRoleDenied', message, failure };
  return { reason: isRefused(failure) ? 'AssumeRoleRefused' : 'AssumeRoleFailed', message, failure };
}
