import { AssumeRoleCommand } from '@aws-sdk/client-sts';
import type { AssumeRoleCommandOutput, STSClient } from '@aws-sdk/client-sts';
import { isRight } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
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
    answer: withoutValues(AssumeRoleAnswer),
  });
}

const withPlainExpiration = ({ Credentials, ...rest }: AssumeRoleCommandOutput): unknown => ({
  ...rest,
  Credentials: { ...Credentials, Expiration: Credentials?.Expiration?.getTime() },
});

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

/** The same decoder, whose errors do not quote what they found. */
const withoutValues = <A>(decoder: t.Decoder<unknown, A>): t.Decoder<unknown, A> => ({
  name: decoder.name,
  validate: (input, context) => concealed(decoder.validate(input, context)),
  decode: (input) => concealed(decoder.decode(input)),
});

const concealed = <A>(result: t.Validation<A>): t.Validation<A> =>
  isRight(result) ? result : t.failures(result.left.map((error) => ({ ...error, value: '(not shown)' })));
