import type { KubeObject } from 'controller-runtime/client';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../pkg/cloud/index.ts';
import { recordOf } from './record.ts';
import { hasFinalizer, hasPausedAnnotation, isDeleting, isMoving, isProvisioned } from './object-state.ts';

// EKS creates or deletes one Fargate profile of a cluster at a time. This file defines the order in which objects get
// their turn.

const ACTIVE: FargateProfile['status'] = 'ACTIVE';

/**
 * Whether the object may have to create or delete a profile in EKS:
 * - It is being deleted, and may have a profile.
 * - It is not being deleted, and was never provisioned, or has a profile that no longer works or is being replaced.
 */
export function wantsTurn(object: AWSFargateProfile): boolean {
  const { profileStatus, profileARN } = object.status ?? {};
  if (hasPausedAnnotation(object) || isMoving(object)) return false;
  const { profiles } = recordOf(object);
  const isUnfinished = profiles.some(({ served }) => served !== true);
  if (!isDeleting(object)) return !isProvisioned(object) || profileStatus !== ACTIVE || isUnfinished;
  return hasFinalizer(object) && (profiles.length > 0 || profileARN !== undefined);
}

/** Deletions sort first, then older objects. Objects that were created in the same second are sorted by name. */
export const turnOrderOf = ({ metadata }: Pick<KubeObject, 'metadata'>): string =>
  `${isDeleting({ metadata }) ? 'deletion' : 'life'} ${metadata.creationTimestamp ?? ''} `;
