import { AssumeRoleCommand, GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import type { STSClient } from '@aws-sdk/client-sts';
import * as s from 'controller-runtime/schema';
import type { LogKeys } from 'controller-runtime/log';
import { Time } from '../call/responses.ts';
import { newCallFactory, type CallFactory, type Call } from '../call/call.ts';
import type { AwsCredentials, AwsCredentialSource } from '../credentials/credential-pool.ts';
import type { AwsConfig } from '../session.ts';
import { AccountId } from '../../../api/names.ts';

/** The default of AWS STS, and the maximum for a role that is assumed with another role's session. */
export const DEFAULT_DURATION_SECONDS = 3_600;
/** In characters. */
const MAX_SESSION_NAME_LENGTH = 64;

/** CloudTrail shows this name. */
export const defaultSessionName = (identityName: string): string =>
  `capaf-${identityName}`.slice(0, MAX_SESSION_NAME_LENGTH);

export interface RoleToAssume {
  readonly arn: string;
  /** 2 to 64 characters of `[\w+=,.@-]`. CloudTrail shows it. */
  readonly sessionName: string;
  /** 900 to 43200. */
  readonly durationSeconds: number;
  readonly externalId?: string;
  /** In JSON. Like the policies of `policyArns`, it can only reduce the role's permissions. */
  readonly inlinePolicy?: string;
  readonly policyArns: readonly string[];
}

/** All STS calls are reads, so this process does not have to be the leader. */
export const stsCalls = (
  config: AwsConfig,
  { key }: AwsCredentialSource,
  region: string,
  signal: AbortSignal,
  keys: LogKeys = {},
): CallFactory =>
  newCallFactory(config, 'sts', {
    rateLimitKeyPrefix: `${key} ${region}`,
    signal,
    mutationBudget: () => 0,
    readPriority: () => 'read',
    logger: config.logger.with({ region, ...keys }),
  });

export function assumeRole(client: STSClient, call: CallFactory, role: RoleToAssume): Call<AwsCredentials> {
  const { arn, sessionName, durationSeconds, externalId, inlinePolicy, policyArns } = role;
  return call({
    operation: 'AssumeRole',
    // AssumeRole counts as a read: it changes nothing in AWS, so this process does not have to be the leader, and the
    // call can be repeated.
    kind: 'read',
    send: () =>
      client.send(
        new AssumeRoleCommand({
          RoleArn: arn,
          RoleSessionName: sessionName,
          DurationSeconds: durationSeconds,
          ...(externalId !== undefined && { ExternalId: externalId }),
          ...(inlinePolicy !== undefined && { Policy: inlinePolicy }),
          ...(policyArns.length > 0 && { PolicyArns: policyArns.map((policyArn) => ({ arn: policyArn })) }),
        }),
      ),
    response: AssumeRoleResponse,
  });
}

// Error messages contain no secret: the SDK returns each secret field as text or omits it, and the decoder rejects only
// an absent field.
const AssumeRoleResponse = s.view(
  s.object({
    Credentials: s.object({
      AccessKeyId: s.string(),
      SecretAccessKey: s.string(),
      SessionToken: s.string(),
      Expiration: Time,
    }),
  }),
  ({ Credentials: { AccessKeyId, SecretAccessKey, SessionToken, Expiration } }): AwsCredentials => ({
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: SessionToken,
    expiresAt: Expiration,
  }),
);

const CallerIdentityResponse = s.view(s.object({ Account: s.text(AccountId) }), ({ Account }) => Account);

export function getCallerAccount(client: STSClient, call: CallFactory): Call<AccountId> {
  return call({
    operation: 'GetCallerIdentity',
    kind: 'read',
    send: () => client.send(new GetCallerIdentityCommand({})),
    response: CallerIdentityResponse,
  });
}
