import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { STSClient } from '@aws-sdk/client-sts';
import type { AwsCredentials } from '../credentials/credential-pool.ts';
import type { Endpoints } from '../endpoints.ts';
import type { AwsService } from '../errors/failure.ts';
import { iamRegionOf } from '../partition.ts';
import { newCheckedHandler } from '../transport/sdk-handler.ts';
import type { AwsTransport } from '../transport/transport.ts';

/** CloudTrail shows this user agent. */
const USER_AGENT = 'cluster-api-provider-aws-fargate';

export interface Clients {
  readonly eks: EKSClient;
  readonly iam: IAMClient;
  readonly sts: STSClient;
}

interface ClientsConfig {
  readonly region: string;
  readonly credentials: () => Promise<AwsCredentials>;
  readonly transport: AwsTransport;
  readonly endpoints: Endpoints;
  readonly version: string;
}

/** Each client is created at its first use. The HTTP connections belong to the transport, not to the clients. */
export function newClients({ region, credentials, transport, endpoints, version }: ClientsConfig): Clients {
  const config = (service: AwsService) => {
    const endpoint = endpoints.urlFor(service, region);
    return {
      // IAM's region is set here, because the SDK signs for the client's region if an endpoint is configured.
      region: service === 'iam' ? iamRegionOf(region) : region,
      // Without `memoized`, the SDK would cache the first credentials, forever if they do not expire.
      credentials: Object.assign(async () => credentials(), { memoized: true }),
      requestHandler: newCheckedHandler(transport),
      // With `cacheMiddleware`, the SDK builds the middleware chain once per operation and not for each call.
      cacheMiddleware: true,
      // The SDK must not retry: each AWS call has one metric and one log line. Only the workqueue retries.
      maxAttempts: 1,
      retryMode: 'standard',
      defaultsMode: 'standard' as const,
      customUserAgent: [[USER_AGENT, version] satisfies [string, string]],
      ...(endpoint !== undefined && { endpoint }),
      // Explicit, because the SDK reads the environment and the shared configuration files for each absent setting.
      useFipsEndpoint: endpoints.fips,
      useDualstackEndpoint: endpoints.dualStack,
      ignoreConfiguredEndpointUrls: true,
      authSchemePreference: [],
      userAgentAppId: '',
      disableClockSkewCorrection: false,
    };
  };
  let [eks, iam, sts]: [eks?: EKSClient, iam?: IAMClient, sts?: STSClient] = [];
  return {
    get eks() {
      return (eks ??= new EKSClient(config('eks')));
    },
    get iam() {
      return (iam ??= new IAMClient(config('iam')));
    },
    get sts() {
      return (sts ??= new STSClient(config('sts')));
    },
  };
}
