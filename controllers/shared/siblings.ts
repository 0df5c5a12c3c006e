import { isRight } from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { TypedStoreReader } from '../../pkg/kube/cache/typed-store.ts';
import { keyText } from '../../pkg/kube/object-key.ts';
import { BY_CLUSTER } from './caches.ts';

/** The other AWSFargateProfiles of the object's Cluster, as far as the cache has them and they can be decoded. */
export function listSiblings(
  { metadata, spec }: AWSFargateProfile,
  profiles: TypedStoreReader<AWSFargateProfile>,
): readonly AWSFargateProfile[] {
  const listing = profiles.byIndex(BY_CLUSTER, keyText({ namespace: metadata.namespace, name: spec.clusterName }));
  if (listing.kind === 'unknown') return [];
  return listing.entries.flatMap(({ decoded }) =>
    isRight(decoded) && decoded.right.metadata.uid !== metadata.uid ? [decoded.right] : [],
  );
}
