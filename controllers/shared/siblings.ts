import { isRight } from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { TypedStoreReader } from '../../pkg/kube/cache/typed-store.ts';
import { siblingIndexesOf } from './caches.ts';

/**
 * Returns the other AWSFargateProfiles of the object's EKS cluster that are in the cache and can be decoded, whether
 * they name a Cluster or an EKS cluster.
 */
export function listSiblings(
  object: AWSFargateProfile,
  profiles: TypedStoreReader<AWSFargateProfile>,
): readonly AWSFargateProfile[] {
  const found = siblingIndexesOf(object).flatMap(({ index, value }) => {
    const listing = profiles.byIndex(index, value);
    return listing.kind === 'unknown' ? [] : listing.entries;
  });
  return found.flatMap(({ decoded }) =>
    isRight(decoded) && decoded.right.metadata.uid !== object.metadata.uid ? [decoded.right] : [],
  );
}
