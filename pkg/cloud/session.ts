import type { Either } from 'fp-ts/lib/Either.js';
import type { Ms } from 'controller-runtime/env';
import type { Logger } from 'controller-runtime/log';
import type { AccountId, EksClusterName } from '../../api/names.ts';
import type { CredentialsProblem } from './credentials/credentials-problem.ts';
import type { AccessEntries, EksClusters, FargateProfiles } from './eks/eks-api.ts';
import type { PodExecutionRoles } from './iam/iam-api.ts';
import type { IdentityField, IdentityRef } from './credentials/identity-ref.ts';
import type { CallEnv } from './call/call.ts';
import type { ReadPriority } from './call/rate-limiter.ts';
import type { CredentialPool } from './credentials/credential-pool.ts';
import type { Endpoints } from './endpoints.ts';
import type { AwsTransport } from './transport/transport.ts';

/** AWS access with one identity in one region. The {@link SessionRequest}'s signal aborts its calls. */
export interface Session {
  readonly account: AccountId;
  readonly region: string;
  readonly profiles: FargateProfiles;
  readonly clusters: EksClusters;
  readonly accessEntries: AccessEntries;
  readonly roles: PodExecutionRoles;
  /**
   * AWS's time, in ms since 1970: the Date of the last response in this session, or the manager's time before the first
   * one. Creation times in AWS are compared with it, so that a wrong clock on the manager's node does no harm.
   */
  readonly now: () => Ms;
  /**
   * Returns a bearer token for the API server of the account's EKS cluster, which accepts it for 15 minutes. AWS is not
   * called.
   * @throws NoCredentials
   */
  readonly clusterToken: (cluster: EksClusterName) => Promise<string>;
}

export interface SessionRequest {
  readonly region: string;
  readonly identity: IdentityRef | undefined;
  /** For error messages, the field that selects the identity. By default, the control plane's `spec.identityRef`. */
  readonly identityField?: IdentityField;
  /** The object's namespace, which the identity's `allowedNamespaces` must allow. */
  readonly namespace: string;
  readonly signal: AbortSignal;
  /**
   * How long a mutation (a call that changes AWS) may take from now: until shortly before the end of the leader's
   * lease, at most 10 s. Called synchronously right before each mutation is sent. At 0 or less, the
   * mutation is not sent (`NotDispatched`).
   */
  readonly mutationBudget: () => Ms;
  /** Called while a read waits for the rate limiter. The default priority is `read`. */
  readonly readPriority?: () => ReadPriority;
  /** The default is the manager's logger. */
  readonly logger?: Logger;
}

export interface Sessions {
  open(request: SessionRequest): Promise<Either<CredentialsProblem, Session>>;
}

export interface AwsConfig extends CallEnv {
  readonly logger: Logger;
  readonly transport: AwsTransport;
  readonly endpoints: Endpoints;
  readonly pool: CredentialPool;
  /** For the user agent of AWS calls. */
  readonly version: string;
}
