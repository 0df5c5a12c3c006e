import type { RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Session } from '../../../pkg/cloud/index.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Target } from '../model/goal-kinds.ts';
import type { Observed } from '../model/observed-state.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { RetryHandle } from '../retry/retry-store.ts';

export type RoleUsage =
  | { readonly kind: 'unused' }
  /** Another object or Fargate profile uses the role; `by` names it. */
  | { readonly kind: 'used'; readonly by: string }
  /** A call to AWS failed, or the manager stopped it. */
  | { readonly kind: 'unknown'; readonly reason: Reason };

/**
 * The AWSFargateProfiles that share an IAM role with the reconciled object. They are in the namespace of the object,
 * and other managers reconcile them.
 */
export interface RoleSharers {
  /**
   * The key of another AWSFargateProfile for which a manager may be deleting the shared IAM role now; `undefined` if
   * there is no such object.
   */
  readonly possibleDeleter: string | undefined;
  /**
   * The AWSFargateProfiles that ask for the shared IAM role and belong to the same cluster as the reconciled object.
   */
  readonly sharers: readonly AWSFargateProfile[];
}

/** The state of a running reconcile after it has read AWS. */
export interface PassState {
  /** The object as this reconcile last read or wrote it. */
  object: AWSFargateProfile;
  /** The state of AWS as this pass read it. */
  readonly observed: Observed;
  readonly desired: Desired;
  readonly target: Target;
  /**
   * The control plane that must have this controller's finalizer before a role or profile is created. `undefined` if
   * there is no such control plane.
   */
  readonly controlPlane: ObjectKey | undefined;
  readonly session: Session;
  readonly retry: RetryHandle;
  /** The lane of the EKS cluster, in which changes of its Fargate profiles take turns. */
  readonly lane: string;
  /** For each IAM role: whether another object or Fargate profile uses it. A reconcile checks each role only once. */
  readonly roleUsage: Map<RoleName, RoleUsage>;
  /**
   * The AWSFargateProfiles of other managers that share the wanted IAM role; `undefined` until this reconcile reads
   * them.
   */
  roleSharers?: RoleSharers;
  /**
   * Returns the reason to stop if one of the given AWSFargateProfiles is older and asks for other settings of the IAM
   * role that it shares with this object.
   */
  readonly roleConflictWith: (sharers: readonly AWSFargateProfile[]) => Reason | undefined;
  readonly signal: AbortSignal;
}
