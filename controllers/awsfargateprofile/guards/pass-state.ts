import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Note } from '../../shared/note.ts';
import type { Session } from '../../../pkg/cloud/index.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Drained } from '../model/drained.ts';
import type { Target } from '../model/goal-kinds.ts';
import type { Observed } from '../model/observed-state.ts';
import type { RetryHandle } from '../retry/retry-store.ts';

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
  readonly controlPlaneTags: Tags;
  readonly session: Session;
  readonly retry: RetryHandle;
  readonly lane: string;
  /** How the drain of the profile has ended that this pass deletes. */
  drained?: Drained;
  readonly signal: AbortSignal;
}
