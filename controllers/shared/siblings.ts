import { isRight } from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { TypedStoreReader } from '../../pkg/kube/cache/typed-store.ts';
import { clusterIndexOf } from './caches.ts';

/** Returns the other AWSFargateProfiles of the object's cluster that are in the cache and can be decoded. */
export function listSiblings(
  object: AWSFargateProfile,
  profiles: TypedStoreReader<AWSFargateProfile>,
): readonly AWSFargateProfile[] {
  const place = clusterIndexOf(object);
  const listing = place && profiles.byIndex(place.index, place.value);
  if (listing === undefined || listing.kind === 'unknown') return [];
  return listing.entries.flatMap(({ decoded }) =>
    isRight(decoded) && decoded.right.metadata.uid !== object.metadata.uid ? [decoded.right] : [],
  );
}
