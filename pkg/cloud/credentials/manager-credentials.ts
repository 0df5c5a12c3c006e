import { fromNodeProviderChain } from '@aws-sdk/credential-providers';
import type { Logger } from 'controller-runtime/log';
import type { AwsCredentialSource } from './credential-pool.ts';
import { newUncheckedHandler } from '../transport/sdk-handler.ts';
import type { AwsTransport } from '../transport/transport.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The timeout for the instance metadata service, which exists only on EC2. Equals the default of the AWS SDKs. */
const METADATA_TIMEOUT_MS = 1_000;

/**
 * Uses the default provider chain of the AWS SDKs (environment, shared configuration files, web identity for IAM roles
 * for service accounts, container for EKS Pod Identity and ECS, instance metadata).
 *
 * `environment` is only used for error messages, because the SDK reads the environment of the process.
 */
export function newManagerCredentialSource(
  transport: AwsTransport,
  environment: Environment,
  logger: Logger,
): AwsCredentialSource {
  return {
    key: 'manager',
    fetch: async (signal) => {
      // Each fetch uses a new provider chain, because a provider chain caches the credentials that it has found.
      const chain = fromNodeProviderChain({
        ignoreCache: true,
        timeout: METADATA_TIMEOUT_MS,
        maxRetries: 0,
        clientConfig: { requestHandler: newUncheckedHandler(transport, signal), maxAttempts: 1 },
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
          ...(sessionToken !== undefined && { sessionToken }),
          ...(expiration !== undefined && { expiresAt: expiration.getTime() }),
        };
      } catch (cause) {
        throw new Error(`the AWS SDK looked in these places: ${describeProviderChain(environment).join('; ')}`, {
          cause,
        });
      }
    },
  };
}

/**
 * Lists where the chain looks for credentials, with the related settings of this process. Omits the addresses of
 * container credentials, which may contain secrets.
 */
export function describeProviderChain(environment: Environment): readonly string[] {
  const has = (name: string): boolean => (environment[name] ?? '') !== '';
  const profile = environment['AWS_PROFILE'] ?? '';
  const container = ['AWS_CONTAINER_CREDENTIALS_FULL_URI', 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'].find(has);
  return [
    has('AWS_ACCESS_KEY_ID') && has('AWS_SECRET_ACCESS_KEY')
      ? 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (set)'
      : 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (not set)',
    `the shared configuration files (profile ${profile === '' ? 'default' : profile})`,
    has('AWS_WEB_IDENTITY_TOKEN_FILE')
      ? `the web identity token of ${environment['AWS_ROLE_ARN'] ?? 'no role: AWS_ROLE_ARN is not set'}`
      : 'AWS_WEB_IDENTITY_TOKEN_FILE (not set)',
    container !== undefined
      ? `the container credentials of ${container}`
      : (environment['AWS_EC2_METADATA_DISABLED'] ?? 'false') === 'false'
        ? 'the instance metadata service'
        : 'the instance metadata service (not asked, because AWS_EC2_METADATA_DISABLED is set)',
  ];
}
