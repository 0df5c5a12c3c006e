import { fromNodeProviderChain } from '@aws-sdk/credential-providers';
import type { Logger } from '../env/logger.ts';
import type { CredentialSource } from './credentials.ts';
import { plainHandler } from './sdk-handler.ts';
import type { AwsTransport } from './transport.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** For the instance metadata service, which is not there outside EC2: the SDKs' own default, said outright. */
const METADATA_TIMEOUT_MS = 1_000;

/**
 * The manager's own credentials, where every AWS SDK looks for them: environment, shared configuration files, web
 * identity (IAM roles for service accounts), container (EKS Pod Identity, ECS), instance metadata.
 *
 * `environment` only serves to say where was looked; the SDK reads the process' own.
 */
export function ownCredentials(transport: AwsTransport, environment: Environment, logger: Logger): CredentialSource {
  return {
    key: 'manager',
    fetch: async (signal) => {
      // A new chain each time: one that is kept also keeps what it found.
      const chain = fromNodeProviderChain({
        ignoreCache: true,
        timeout: METADATA_TIMEOUT_MS,
        maxRetries: 0,
        clientConfig: { requestHandler: plainHandler(transport, signal), maxAttempts: 1 },
        logger: {
          debug: () => {},
          info: () => {},
          warn: (warning: unknown) => logger.warn('The AWS SDK warns about the credentials', { warning }),
          error: () => {},
        },
      });
      try {
        const { accessKeyId, secretAccessKey, sessionToken, expiration } = await chain();
        return {
          accessKeyId,
          secretAccessKey,
          ...(sessionToken === undefined ? {} : { sessionToken }),
          ...(expiration === undefined ? {} : { expiresAt: expiration.getTime() }),
        };
      } catch (cause) {
        throw new Error(`looked in ${placesOf(environment).join(', ')}`, { cause });
      }
    },
  };
}

/** Where the chain looks, and what of it this process has. */
export function placesOf(environment: Environment): readonly string[] {
  const has = (name: string): boolean => (environment[name] ?? '') !== '';
  const or = (present: string | undefined, absent: string): string => present ?? absent;
  const profile = environment['AWS_PROFILE'] ?? '';
  return [
    has('AWS_ACCESS_KEY_ID') && has('AWS_SECRET_ACCESS_KEY')
      ? 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (set)'
      : 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (not set)',
    `the shared configuration files (profile ${profile === '' ? 'default' : profile})`,
    has('AWS_WEB_IDENTITY_TOKEN_FILE')
      ? `the web identity token of ${or(environment['AWS_ROLE_ARN'], 'no role: AWS_ROLE_ARN is not set')}`
      : 'AWS_WEB_IDENTITY_TOKEN_FILE (not set)',
    has('AWS_CONTAINER_CREDENTIALS_FULL_URI') || has('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI')
      ? `the container credentials at ${or(
          environment['AWS_CONTAINER_CREDENTIALS_FULL_URI'],
          environment['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'] ?? '',
        )}`
      : (environment['AWS_EC2_METADATA_DISABLED'] ?? 'false') === 'false'
        ? 'the instance metadata service'
        : 'and not in the instance metadata service (AWS_EC2_METADATA_DISABLED)',
  ];
}
