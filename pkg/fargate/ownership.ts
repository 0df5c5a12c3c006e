import type { ClusterName, ProfileName, RoleName } from '../../api/names.ts';
import { CAPA_SHARED_ROLE } from './names.ts';
import type { KeyFold, Tags } from './tags.ts';
import {
  CLUSTER_TAG_PREFIX,
  EKS_CLUSTER_TAG,
  OWNED,
  OWNER_TAG,
  clusterTag,
  exactly,
  foldCase,
  ownerTagValue,
  tagValue,
} from './tags.ts';

export type Owner =
  /** `stamped`: our own tag says so. Otherwise Cluster API Provider AWS made it for this object, and our tag comes first. */
  | { readonly kind: 'ours'; readonly stamped: boolean }
  /**
   * Never changed, never deleted. `whose` ends a sentence: "it belongs to …". `claimed`: a tag names an owner; without,
   * nobody is known to mind an adoption.
   */
  | { readonly kind: 'foreign'; readonly whose: string; readonly claimed: boolean };

/** A profile is ours if its owner tag names the object, or it has none and Cluster API Provider AWS made it for it. */
export function profileOwner(
  found: { readonly name: ProfileName; readonly tags: Tags },
  object: {
    readonly namespace: string;
    readonly name: string;
    readonly clusterName: ClusterName;
    /** The name that the object's profile has. */
    readonly profileName: ProfileName;
  },
): Owner {
  const owner = tagValue(found.tags, OWNER_TAG, exactly);
  if (owner !== undefined) {
    return owner === ownerTagValue(object)
      ? { kind: 'ours', stamped: true }
      : { kind: 'foreign', whose: `the AWSFargateProfile ${owner}`, claimed: true };
  }
  return ownedByCluster(found.tags, object.clusterName, exactly) && found.name === object.profileName
    ? { kind: 'ours', stamped: false }
    : unstamped(found.tags, exactly);
}

/**
 * A role is ours if its tag names the EKS cluster, or it has none and Cluster API Provider AWS made it for this object:
 * its tag and one of the names that it gives.
 */
export function roleOwner(
  found: { readonly name: RoleName; readonly tags: Tags },
  object: {
    readonly clusterName: ClusterName;
    readonly eksClusterArn: string;
    /** Each name that Cluster API Provider AWS can have given to this object's role. */
    readonly namesOfCapa: readonly RoleName[];
  },
): Owner {
  if (isSharedByCapa(found.name)) {
    return {
      kind: 'foreign',
      whose: 'every profile of Cluster API Provider AWS: it is their shared role',
      claimed: true,
    };
  }
  const cluster = tagValue(found.tags, EKS_CLUSTER_TAG, foldCase);
  if (cluster !== undefined) {
    return cluster === object.eksClusterArn
      ? { kind: 'ours', stamped: true }
      : { kind: 'foreign', whose: `the profiles of EKS cluster ${cluster}`, claimed: true };
  }
  return ownedByCluster(found.tags, object.clusterName, foldCase) && object.namesOfCapa.includes(found.name)
    ? { kind: 'ours', stamped: false }
    : unstamped(found.tags, foldCase);
}

/** Whether it is the one role that Cluster API Provider AWS uses for every profile where it makes none: never ours. */
export const isSharedByCapa = (name: RoleName): boolean => name.toLowerCase() === CAPA_SHARED_ROLE;

function ownedByCluster(tags: Tags, cluster: ClusterName, fold: KeyFold): boolean {
  return tagValue(tags, clusterTag(cluster), fold) === OWNED;
}

function unstamped(tags: Tags, fold: KeyFold): Owner {
  const owners = Object.entries(tags)
    .filter(([key, value]) => fold(key).startsWith(CLUSTER_TAG_PREFIX) && value === OWNED)
    .map(([key]) => key.slice(CLUSTER_TAG_PREFIX.length))
    .toSorted();
  return owners.length > 0
    ? {
        kind: 'foreign',
        whose: `something else of the cluster ${owners.join(', ')} (tag ${CLUSTER_TAG_PREFIX}${owners[0]}=${OWNED})`,
        claimed: true,
      }
    : { kind: 'foreign', whose: 'somebody else: no tag names an owner', claimed: false };
}
