import * as E from 'fp-ts/lib/Either.js';
import type { Clock, Ms } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import { calling } from './call.ts';
import { newClients } from './clients.ts';
import type { AwsCredentials, CredentialPool, CredentialSource } from './credentials.ts';
import type { Endpoints } from './endpoints.ts';
import { describeFailure, isAccessDenied, isCredentialsInvalid, isThrottled } from './errors.ts';
import type { AwsFailure } from './failure.ts';
import type { Limiter } from './limiter.ts';
import type { AwsMetrics } from './metrics.ts';
import { stsRegionFor } from './partition.ts';
import { NoCredentials } from './sdk-failure.ts';
import type { RoleToAssume } from './sts/assume-role.ts';
import { assumeRole } from './sts/assume-role.ts';
import type { AwsTransport } from './transport.ts';
import type { CredentialsProblem, CredentialsProblemReason } from './types.ts';

/** What all assumptions of roles share. */
export interface AssumingConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly transport: AwsTransport;
  readonly limiter: Limiter;
  readonly metrics: AwsMetrics;
  readonly endpoints: Endpoints;
  readonly pool: CredentialPool;
  /** Where the manager is: its STS is asked where it can be, since a private network may reach no other. */
  readonly region: string | undefined;
  readonly version: string;
}

export interface AssumedRole {
  /** See {@link CredentialSource}. */
  readonly key: string;
  readonly role: RoleToAssume;
  /** Whose credentials ask for the session. */
  readonly base: CredentialSource;
  /** The same for people, e.g. `AWSClusterStaticIdentity "team-a"`. */
  readonly baseName: string;
}

/**
 * AWS' limit for a session that another session asks for ("role chaining"); IAM roles for service accounts, EKS Pod
 * Identity and instance profiles are such sessions too. More is refused, and sessions are renewed anyway.
 */
const LONGEST_CHAINED_SECONDS = 3_600;

/** Above those of the base's credentials and of one call, so that their failures are told and not only that time is up. */
const FETCH_DEADLINE: Ms = 40_000;

/** The credentials of a role, from those of another identity. Its problems say which role and whose credentials. */
export function assumedRole(config: AssumingConfig, { key, role, base, baseName }: AssumedRole): CredentialSource {
  const { transport, endpoints, pool, version } = config;
  const region = stsRegionFor(role.arn, config.region);

  return {
    key,
    deadline: FETCH_DEADLINE,
    async fetch(signal) {
      const credentials = await pool.get(base);
      const { sts } = newClients({ region, transport, endpoints, version, credentials: async () => credentials });
      const call = calling(config, 'sts', {
        limitedAs: `${base.key} ${region}`,
        signal,
        mutationBudget: () => 0,
        polling: false,
        logger: config.logger.with({ region, role: role.arn }),
        onFailure: (failure) => {
          if (isCredentialsInvalid(failure)) pool.refused(base);
        },
      });
      const answer = await assumeRole(sts, call, { ...role, durationSeconds: secondsFor(role, credentials) })();
      if (E.isLeft(answer)) throw new NoCredentials(problemOf(answer.left, role.arn, baseName));
      return answer.right;
    },
  };
}

const secondsFor = ({ durationSeconds }: RoleToAssume, { sessionToken }: AwsCredentials): number =>
  sessionToken === undefined ? durationSeconds : Math.min(durationSeconds, LONGEST_CHAINED_SECONDS);

function problemOf(failure: AwsFailure, arn: string, baseName: string): CredentialsProblem {
  const words = describeFailure(failure);
  const message = isCredentialsInvalid(failure)
    ? `AWS rejects the credentials of ${baseName}: ${words}`
    : `role ${arn} cannot be assumed with the credentials of ${baseName}: ${words}`;
  return { reason: reasonOf(failure), message, failure };
}

function reasonOf(failure: AwsFailure): CredentialsProblemReason {
  if (isCredentialsInvalid(failure)) return 'CredentialsInvalid';
  if (isAccessDenied(failure)) return 'AssumeRoleDenied';
  const { statusCode = 0 } = failure;
  return !isThrottled(failure) && statusCode >= 400 && statusCode < 500 ? 'AssumeRoleRefused' : 'AssumeRoleFailed';
}
