import type { AwsTransport } from '../../pkg/cloud/transport/transport.ts';
import type { AwsCredentialSource } from '../../pkg/cloud/credentials/credential-pool.ts';
import type { Endpoints } from '../../pkg/cloud/endpoints.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { Profiler } from '../../pkg/env/profiler.ts';
import type { Random } from '../../pkg/env/random.ts';
import type { Transport } from '../../pkg/kube/transport/transport.ts';
import type { Namespaces } from './namespaces.ts';

/** The manager's access to the clock, to randomness, to the network and to the host. Tests replace each part. */
export interface Env {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Sets the verbosity of the log while the manager runs. */
  readonly setVerbosity: (verbosity: number) => void;
  readonly profiler: Profiler;
  /** Sends requests to the API server. */
  readonly kube: Transport;
  /**
   * Sends requests about the leader election Lease to the API server. This transport has its own connections, so that
   * the requests of busy workers cannot delay the renewal of the Lease.
   */
  readonly kubeForLease: Transport;
  /** Sends requests to AWS. */
  readonly aws: AwsTransport;
  readonly endpoints: Endpoints;
  /** The manager's own credentials. */
  readonly credentials: AwsCredentialSource;
  /**
   * The AWS region in which the manager assumes IAM roles, and the default of spec.eksCluster.region; undefined if the
   * region is unknown.
   */
  readonly awsRegion?: string;
  /** The name of this host, which is part of the holder identity in the Lease. */
  readonly hostname: string;
  readonly namespaces: Namespaces;
}
