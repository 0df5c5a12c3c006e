import { type AWSFargateProfile, PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { isDeleting } from '../../shared/object-state.ts';
import type { ProfileWriter } from '../../shared/profile-writer.ts';
import { foundRoles, ownershipOf } from '../decide/compare.ts';
import { locationPatch } from '../goal/metadata.ts';
import { NOWHERE, locationOf } from '../model/location.ts';
import type { AwsFacts } from '../model/pass.ts';
import type { RetryStore } from '../retry/retry-store.ts';

/**
 * A location that is recorded too early does harm after `clusterctl move` has dropped status: a profile with the same
 * name and without tags then looks like one of this object whose tags a user has removed.
 */
function isLocationNeeded(object: AWSFargateProfile, { desired, observed, plan }: AwsFacts): boolean {
  if (object.metadata.annotations?.[PROVISIONED_IN_ANNOTATION] !== NOWHERE) return true;
  return (
    observed.profiles.some(({ found }) => found !== undefined && ownershipOf(desired, found).kind === 'ours') ||
    foundRoles(observed.roles).some((role) => roleOwnership(role, desired.identity).kind === 'ours') ||
    plan.changes.length > 0
  );
}

/**
 * After `clusterctl move` only this annotation tells where the profile is. In a deletion, `markDeletion` records it.
 * Returns `undefined` if another client wrote or deleted the object first.
 */
export async function recordLocation(
  {
    profileWriter,
    retryStore,
  }: {
    readonly profileWriter: Pick<ProfileWriter, 'patchMetadata'>;
    readonly retryStore: Pick<RetryStore, 'recordNoCreateSent'>;
  },
  object: AWSFargateProfile,
  facts: AwsFacts,
  signal: AbortSignal,
): Promise<AWSFargateProfile | undefined> {
  const { desired, observed } = facts;
  if (observed.cluster === 'gone' || isDeleting(object) || !isLocationNeeded(object, facts)) return object;
  const location = { ...desired.place, eksCluster: desired.identity.eksCluster };
  const written = await profileWriter.patchMetadata(object, locationPatch(object, location), signal);
  if (written !== undefined && locationOf(object).kind === 'none') retryStore.recordNoCreateSent(written);
  return written;
}
