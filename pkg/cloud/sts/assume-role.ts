import { AssumeRoleCommand } from '@aws-sdk/client-sts';
import type { AssumeRoleCommandOutput, STSClient } from '@aws-sdk/client-sts';
import * as s from '../../../api/schema/field.ts';
import type { Calling } from '../call.ts';
import type { AwsCredentials } from '../credentials.ts';
import type { Call } from '../types.ts';

/** A role, and how it is to be assumed. */
export interface RoleToAssume {
  readonly arn: string;
  /** 2 to 64 of `[\w+=,.@-]`; CloudTrail shows it. */
  readonly sessionName: string;
  /** 900 to 43200. */
  readonly durationSeconds: number;
  readonly externalId?: string;
  /** JSON. It and `policyArns` can only narrow what the role allows. */
  readonly inlinePolicy?: string;
  readonly policyArns: readonly string[];
}

/** Credentials of a session of the role. */
export function assumeRole(client: STSClient, call: Calling, role: RoleToAssume): Call<AwsCredentials> {
  const { arn, sessionName, durationSeconds, externalId, inlinePolicy, policyArns } = role;
  return call({
    operation: 'AssumeRole',
    // It changes nothing in AWS: it may be sent without leadership, and again.
    kind: 'read',
    send: async (options) =>
      withPlainExpiration(
        await client.send(
          new AssumeRoleCommand({
            RoleArn: arn,
            RoleSessionName: sessionName,
            DurationSeconds: durationSeconds,
            ...(externalId !== undefined && { ExternalId: externalId }),
            ...(inlinePolicy !== undefined && { Policy: inlinePolicy }),
            ...(policyArns.length > 0 && { PolicyArns: policyArns.map((policyArn) => ({ arn: policyArn })) }),
          }),
          options,
        ),
      ),
    answer: AssumeRoleAnswer,
  });
}

const withPlainExpiration = ({ Credentials, ...rest }: AssumeRoleCommandOutput): unknown => ({
  ...rest,
  Credentials: { ...Credentials, Expiration: Credentials?.Expiration?.getTime() },
});

// Its errors can quote no secret: the SDK hands on text or nothing, so that what is wrong is absent.
const AssumeRoleAnswer = s.view(
  s.object({
    Credentials: s.object({
      AccessKeyId: s.string(),
      SecretAccessKey: s.string(),
      SessionToken: s.string(),
      Expiration: s.number(),
    }),
  }),
  ({ Credentials: { AccessKeyId, SecretAccessKey, SessionToken, Expiration } }): AwsCredentials => ({
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: SessionToken,
    expiresAt: Expiration,
  }),
);
