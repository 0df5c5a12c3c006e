import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { isDeleting } from '../../shared/object-state.ts';
import type { ProfileWriter } from '../../shared/profile-writer.ts';
import type { Observation } from '../aws/observe.ts';
import { foundRoles, ownershipOf } from '../decide/compare.ts';
import { decide } from '../decide/decide.ts';
import { locationPatch } from '../goal/metadata.ts';
import type { Desired } from '../model/desired-state.ts';
import type { KnownLocation } from '../model/location.ts';
import { NOWHERE, locationOf } from '../model/location.ts';
import type { ObservedProfile } from '../model/observed-state.ts';
import type { PartiallyObserved } from '../model/pass.ts';
import type { RetryStore } from '../retry/retry-store.ts';

/**
 * Whether the reconcile has to record the AWS location of the object in the annotation `provisioned-in`. The annotation
 * keeps the value `nowhere` while AWS has nothing of the object and the reconcile creates nothing.
 *
 * A location that is recorded too early does harm after `clusterctl move` has dropped status. A profile with the same
 * name and without tags then looks like a profile of this object whose tags a user has removed.
 */
export function isLocationNeeded(object: AWSFargateProfile, asked: Desired, observation: Observation): boolean {
  if (object.metadata.annotations?.[PROVISIONED_IN_ANNOTATION] !== NOWHERE) return true;
  const { desired = asked, observed } = observation;
  const isOurs = ({ found }: ObservedProfile): boolean =>
    found !== undefined && ownershipOf(desired, found).kind === 'ours';
  if (observed.profiles.some(isOurs)) return true;
  if (observation.kind === 'profilesOnly') return false;
  return (
    foundRoles(observation.observed.roles).some((role) => roleOwnership(role, desired.identity).kind === 'ours') ||
    decide(desired, observation.observed).kind !== 'stop'
  );
}

/**
 * Records account, region and EKS cluster in the annotation `provisioned-in` once EKS has shown that the cluster
 * exists. After `clusterctl move` only this annotation tells where the profile is. For an object that is being deleted,
 * the preparation `markDeletion` records the location together with the beginning of the deletion.
 *
 * Returns the written object, or `undefined` if another client wrote or deleted it first.
 */
export async function recordLocation(
  { profileWriter, retryStore }: { readonly profileWriter: ProfileWriter; readonly retryStore: RetryStore },
  object: AWSFargateProfile,
  { cluster }: PartiallyObserved,
  location: KnownLocation,
  signal: AbortSignal,
): Promise<AWSFargateProfile | undefined> {
  if (cluster === 'gone' || isDeleting(object)) return object;
  const written = await profileWriter.patchMetadata(object, locationPatch(object, location), signal);
  if (written !== undefined && locationOf(object).kind === 'none') retryStore.recordNoCreateSent(written);
  return written;
}
