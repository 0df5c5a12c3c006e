import type { RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Session } from '../../../pkg/cloud/types.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import type { QueueEntry } from '../../../pkg/runtime/queue/cluster-queue.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Target } from '../model/goal-kinds.ts';
import type { Observed } from '../model/observed-state.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { RetryHandle } from '../retry/retry-store.ts';
import type { RoleSharers } from './role-sharers.ts';

export type RoleUsage =
  | { readonly kind: 'unused' }
  /** Another object or profile uses the role; `by` names this user. */
  | { readonly kind: 'used'; readonly by: string }
  | { readonly kind: 'unknown'; readonly reason: Reason };

/** The state of a pass that is running, from the time after AWS was read. */
export interface PassState {
  /** The object as this pass last read or wrote it. */
  object: AWSFargateProfile;
  /** The state of AWS as the pass read it, with the outcomes of the pass's mutations applied. */
  observed: Observed;
  readonly desired: Desired;
  readonly target: Target;
  /**
   * The key of the control plane that must have the control plane finalizer before a creation; undefined: no creation.
   */
  readonly controlPlane: ObjectKey | undefined;
  readonly session: Session;
  readonly retry: RetryHandle;
  readonly queueEntry: QueueEntry;
  /** Role name → whether another object or profile uses the role. A pass checks each role only once. */
  readonly roleUsage: Map<RoleName, RoleUsage>;
  /** The objects of other managers that share the wanted role; `undefined`: the pass has not read them. */
  roleSharers?: RoleSharers;
  /** The reason to stop if one of these objects is older and has other settings for the wanted role. */
  readonly roleConflictWith: (sharers: readonly AWSFargateProfile[]) => Reason | undefined;
  readonly signal: AbortSignal;
}
