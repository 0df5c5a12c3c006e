import type { AwsTransport } from '../../pkg/cloud/transport.ts';
import type { CredentialSource } from '../../pkg/cloud/credentials.ts';
import type { Endpoints } from '../../pkg/cloud/endpoints.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { Random } from '../../pkg/env/random.ts';
import type { Transport } from '../../pkg/kube/transport.ts';

/** The world outside the manager: everything that a test under a virtual clock puts its own in the place of. */
export interface Env {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** To the API server. */
  readonly kube: Transport;
  /** To AWS. */
  readonly aws: AwsTransport;
  readonly endpoints: Endpoints;
  /** The manager's own credentials. */
  readonly credentials: CredentialSource;
  /** Where the manager is, if that is known: roles are assumed there. */
  readonly awsRegion?: string;
  /** Of this host, for the lease. */
  readonly hostname: string;
  /** The namespace the manager is in, where one is known: the lease is there. */
  readonly ownNamespace: string | undefined;
}
