import type { RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Note } from '../../shared/note.ts';
import type { Session } from '../../../pkg/cloud/index.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Drained } from '../model/drained.ts';
import type { Target } from '../model/goal-kinds.ts';
import type { Observed } from '../model/observed-state.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { RetryHandle } from '../retry/retry-store.ts';

export type RoleUsage =
  | { readonly kind: 'unused' }
  | { readonly kind: 'used'; readonly by: string }
  /** A call to AWS failed, or EKS is deleting the last profile that uses the role. */
  | { readonly kind: 'unknown'; readonly reason: Reason };

/** Objects of other managers, in the namespace of the object, that share its role. */
export interface RoleSharers {
  /** Another object for which a manager may be deleting the role now. */
  readonly possibleDeleter: string | undefined;
  /** The objects that ask for the role and belong to the same EKS cluster. */
  readonly sharers: readonly AWSFargateProfile[];
}

export interface PassState {
  /** As this pass last read or wrote it. */
  object: AWSFargateProfile;
  /** As this pass last wrote it, or will write it at its end. */
  note: Note;
  /** Whether the API server has confirmed in this pass, before a change, that no other client has written the object. */
  isConfirmed?: boolean;
  readonly observed: Observed;
  readonly desired: Desired;
  readonly target: Target;
  /** The control plane that must have the finalizer before a role or profile is created. */
  readonly controlPlane: ObjectKey | undefined;
  readonly session: Session;
  readonly retry: RetryHandle;
  readonly lane: string;
  readonly roleUsage: Map<RoleName, RoleUsage>;
  /** `undefined` until this pass reads them. */
  roleSharers?: RoleSharers;
  /** How the drain of the profile has ended that this pass deletes. */
  drained?: Drained;
  readonly roleConflictWith: (sharers: readonly AWSFargateProfile[]) => Reason | undefined;
  readonly signal: AbortSignal;
}
