import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { STSClient } from '@aws-sdk/client-sts';
import type { AwsCredentials } from './credentials.ts';
import type { Endpoints } from './endpoints.ts';
import type { AwsService } from './failure.ts';
import { iamRegionOf } from './partition.ts';
import { guardedHandler } from './sdk-handler.ts';
import type { AwsTransport } from './transport.ts';

/** The name under which this manager's calls stand in CloudTrail. */
const USER_AGENT = 'cluster-api-provider-aws-fargate';

export interface Clients {
  readonly eks: EKSClient;
  readonly iam: IAMClient;
  readonly sts: STSClient;
}

export interface ClientsConfig {
  readonly region: string;
  readonly credentials: () => Promise<AwsCredentials>;
  readonly transport: AwsTransport;
  readonly endpoints: Endpoints;
  readonly version: string;
}

/** The SDK's clients of one identity in one region, each made when it is needed. They hold no connections: these are the transport's. */
export function newClients({ region, credentials, transport, endpoints, version }: ClientsConfig): Clients {
  const config = (service: AwsService) => {
    const endpoint = endpoints.of(service, region);
    return {
      // Said outright, because a configured endpoint makes the SDK sign for the client's own region.
      region: service === 'iam' ? iamRegionOf(region) : region,
      // Marked, or the SDK keeps what it was given first: for ever, where that has no expiration.
      credentials: Object.assign(async () => credentials(), { memoized: true }),
      requestHandler: guardedHandler(transport),
      // One attempt is one metric, one log line, one outcome: the workqueue is the only one who tries again.
      maxAttempts: 1,
      retryMode: 'standard',
      defaultsMode: 'standard' as const,
      customUserAgent: [[USER_AGENT, version] satisfies [string, string]],
      ...(endpoint === undefined ? {} : { endpoint }),
      // What the SDK would otherwise look up, at its first call, in the environment and the shared configuration files.
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
