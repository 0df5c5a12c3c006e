import type { KubeObject } from 'controller-runtime/client';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../pkg/cloud/index.ts';
import { noteOf } from './note.ts';
import { hasFinalizer, hasPausedAnnotation, isDeleting, isMoving, isProvisioned } from './object-state.ts';

// EKS creates or deletes one Fargate profile of a cluster at a time. This is the order of the objects that want a change.

const ACTIVE: FargateProfile['status'] = 'ACTIVE';

/**
 * Whether the object may want EKS to change a profile: it is deleted and has a profile in the note, it was never
 * provisioned, or its profile no longer works or is to be replaced.
 */
export function wantsTurn(object: AWSFargateProfile): boolean {
  const { profileStatus, profileARN } = object.status ?? {};
  if (hasPausedAnnotation(object) || isMoving(object)) return false;
  const { profiles } = noteOf(object);
  const isUnfinished = profiles.some(({ served }) => served !== true);
  if (!isDeleting(object)) return !isProvisioned(object) || profileStatus !== ACTIVE || isUnfinished;
  return hasFinalizer(object) && (profiles.length > 0 || profileARN !== undefined);
}

/** Deletions go first, then older objects. Objects of the same second go in the order of their names. */
export const turnOrderOf = ({ metadata }: Pick<KubeObject, 'metadata'>): string =>
  `${isDeleting({ metadata }) ? 'deletion' : 'life'} ${metadata.creationTimestamp ?? ''} `;
