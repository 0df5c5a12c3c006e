import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { AccountId } from '../../api/names.ts';
import type { Ms } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { CredentialsProblem } from './credentials/credentials-problem.ts';
import type { AccessEntries, EksClusters, FargateProfiles } from './eks/eks-api.ts';
import type { PodExecutionRoles } from './iam/iam-api.ts';
import type { IdentityField, IdentityRef } from './identity-ref.ts';

/**
 * An AWS session: AWS access with one identity in one region. The signal of the {@link SessionRequest} aborts the
 * session's calls.
 */
export interface Session {
  readonly account: AccountId;
  readonly region: string;
  readonly profiles: FargateProfiles;
  readonly clusters: EksClusters;
  readonly accessEntries: AccessEntries;
  readonly roles: PodExecutionRoles;
}

export interface SessionRequest {
  readonly region: string;
  readonly identity: IdentityRef | undefined;
  /** The field that names the identity, for error messages; default: `spec.identityRef` of the control plane. */
  readonly identityField?: IdentityField;
  /** The namespace of the reconciled object, which the identity's `allowedNamespaces` must allow. */
  readonly namespace: string;
  readonly signal: AbortSignal;
  /**
   * Returns how long a mutation (a call that changes AWS) may take from now: 10 s, but at most the remaining time of
   * the leader's lease minus 2 s. Called synchronously right before each mutation is sent. With 0 or less the mutation
   * is not sent (`NotDispatched`).
   */
  readonly mutationBudget: () => Ms;
  /**
   * True: this reconcile only checks whether a change in AWS has finished, so the rate limiter gives its reads the
   * lowest priority.
   */
  readonly polling?: boolean;
  /** The logger of the reconcile, for its AWS calls; undefined: the manager's logger. */
  readonly logger?: Logger;
}

export interface Sessions {
  open(request: SessionRequest): TaskEither<CredentialsProblem, Session>;
}
