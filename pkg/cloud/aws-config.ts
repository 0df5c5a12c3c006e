import type { Logger } from '../env/logger.ts';
import type { CallEnv } from './call/call.ts';
import type { CredentialPool } from './credentials/credential-pool.ts';
import type { Endpoints } from './endpoints.ts';
import type { AwsTransport } from './transport/transport.ts';

/** The dependencies that the AWS sessions, the assumed roles and the account lookups of one manager share. */
export interface AwsConfig extends CallEnv {
  readonly logger: Logger;
  readonly transport: AwsTransport;
  readonly endpoints: Endpoints;
  readonly pool: CredentialPool;
  /** The version of the manager, for the user agent of AWS calls. */
  readonly version: string;
}
