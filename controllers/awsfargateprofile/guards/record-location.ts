import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { isDeleting } from '../../shared/object-state.ts';
import type { ProfileWriter } from '../../shared/profile-writer.ts';
import { locationPatch } from '../goal/metadata.ts';
import type { KnownLocation } from '../model/location.ts';
import { locationOf } from '../model/location.ts';
import type { PartiallyObserved } from '../model/pass.ts';
import type { RetryStore } from '../retry/retry-store.ts';

/**
 * Records account, region and EKS cluster in an annotation once EKS has shown that the cluster exists: after `clusterctl
 * move` nothing else tells where the profile is. On an object that is being deleted, the location is recorded together with
 * the mark that the deletion has begun.
 *
 * Returns the written object, or `undefined` if another client wrote first.
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
  if (written !== undefined && locationOf(object).kind === 'none') retryStore.recordFirstLocation(written);
  return written;
}
