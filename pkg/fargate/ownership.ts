import type { ClusterName, ProfileName, RoleName } from '../../api/names.ts';
import { CAPA_SHARED_ROLE } from './names.ts';
import type { KeyFold, Tags } from './tags/tag-map.ts';
import {
  CLUSTER_TAG_PREFIX,
  EKS_CLUSTER_TAG,
  NAMESPACE_TAG,
  OWNED,
  OWNER_TAG,
  clusterTag,
  ownerTagValue,
} from './tags/tag-keys.ts';
import { keepCase, foldCase, tagValue } from './tags/tag-map.ts';

/**
 * The names of the Fargate profile and the roles that Cluster API Provider AWS may have created for one
 * AWSFargateProfile. The controller recognizes these resources by their names, because that provider's tags do not name
 * the AWSFargateProfile.
 */
export interface AdoptableNames {
  readonly profile: ProfileName;
  readonly roles: readonly RoleName[];
}

export type Ownership =
  /**
   * The AWS resource belongs to this controller. `stamped`: the resource carries this controller's tag. Not `stamped`:
   * Cluster API Provider AWS created the resource for the same Kubernetes object, and this controller must tag the
   * resource before any other change.
   */
  | { readonly kind: 'ours'; readonly stamped: boolean }
  /**
   * The AWS resource does not belong to this controller, so the controller must neither change nor delete it. `whose`
   * completes the sentence "it belongs to …". `claimed` tells whether a tag of the resource names an owner; it is also
   * true for the role that Cluster API Provider AWS shares. If `claimed` is false, `spec.adoptionPolicy: Always` lets
   * the controller adopt a Fargate profile.
   */
  | { readonly kind: 'foreign'; readonly whose: string; readonly claimed: boolean };

/**
 * Tells whether a Fargate profile belongs to this controller. A profile with an owner tag belongs to it if the tag
 * names the AWSFargateProfile. A profile without an owner tag belongs to it if Cluster API Provider AWS created the
 * profile for the AWSFargateProfile: the profile then carries that provider's cluster tag and has the name
 * `adoptable.profile`.
 */
export function profileOwnership(
  found: { readonly name: ProfileName; readonly tags: Tags },
  object: {
    readonly namespace: string;
    readonly name: string;
    readonly clusterName: ClusterName | undefined;
    readonly adoptable: Pick<AdoptableNames, 'profile'>;
  },
): Ownership {
  const owner = tagValue(found.tags, OWNER_TAG, keepCase);
  if (owner !== undefined) {
    return owner === ownerTagValue(object)
      ? { kind: 'ours', stamped: true }
      : { kind: 'foreign', whose: `AWSFargateProfile ${owner}`, claimed: true };
  }
  return hasClusterTag(found.tags, object.clusterName, keepCase) && found.name === object.adoptable.profile
    ? { kind: 'ours', stamped: false }
    : ownershipByClusterTags(found.tags, keepCase);
}

/**
 * Tells whether an IAM role belongs to this controller. This controller tags each of its roles with the EKS cluster and
 * the namespace of the AWSFargateProfile. A role with both tags belongs to this controller if both tags match the
 * AWSFargateProfile. The control plane of another namespace may name the same EKS cluster; the tag with the namespace
 * keeps the roles of the two namespaces apart.
 *
 * A role that lacks one or both of these tags belongs to this controller if no such tag names another owner, and if
 * Cluster API Provider AWS created the role for the AWSFargateProfile. The role then carries that provider's cluster
 * tag and has one of the names in `adoptable.roles`.
 */
export function roleOwnership(
  found: { readonly name: RoleName; readonly tags: Tags },
  object: {
    readonly namespace: string;
    readonly clusterName: ClusterName | undefined;
    readonly eksClusterArn: string;
    readonly adoptable: Pick<AdoptableNames, 'roles'>;
  },
): Ownership {
  if (isSharedByCapa(found.name)) {
    return {
      kind: 'foreign',
      whose: 'all Fargate profiles of Cluster API Provider AWS, which share this role',
      claimed: true,
    };
  }
  const cluster = tagValue(found.tags, EKS_CLUSTER_TAG, foldCase);
  if (cluster !== undefined && cluster !== object.eksClusterArn) {
    return { kind: 'foreign', whose: `the profiles of EKS cluster ${cluster}`, claimed: true };
  }
  const namespace = tagValue(found.tags, NAMESPACE_TAG, foldCase);
  if (namespace !== undefined && namespace !== object.namespace) {
    return { kind: 'foreign', whose: `the AWSFargateProfiles of namespace ${namespace}`, claimed: true };
  }
  if (cluster !== undefined && namespace !== undefined) return { kind: 'ours', stamped: true };
  return hasClusterTag(found.tags, object.clusterName, foldCase) && object.adoptable.roles.includes(found.name)
    ? { kind: 'ours', stamped: false }
    : ownershipByClusterTags(found.tags, foldCase);
}

/** A tag by which this controller recognizes its own resources in AWS. */
export interface OwnershipTag {
  readonly key: string;
  readonly value: string;
}

/**
 * Returns the ownership tags of this controller that a Fargate profile lacks. Returns none if one of the profile's
 * ownership tags names another owner.
 */
export const missingProfileTags = (
  tags: Tags,
  object: { readonly namespace: string; readonly name: string },
): readonly OwnershipTag[] => missingTags(tags, [{ key: OWNER_TAG, value: ownerTagValue(object) }], keepCase);

/**
 * Returns the ownership tags of this controller that an IAM role lacks. Returns none if one of the role's ownership
 * tags names another owner.
 */
export const missingRoleTags = (
  tags: Tags,
  { eksClusterArn, namespace }: { readonly eksClusterArn: string; readonly namespace: string },
): readonly OwnershipTag[] =>
  missingTags(
    tags,
    [
      { key: EKS_CLUSTER_TAG, value: eksClusterArn },
      { key: NAMESPACE_TAG, value: namespace },
    ],
    foldCase,
  );

function missingTags(found: Tags, wanted: readonly OwnershipTag[], fold: KeyFold): readonly OwnershipTag[] {
  const isForeign = wanted.some(({ key, value }) => (tagValue(found, key, fold) ?? value) !== value);
  return isForeign ? [] : wanted.filter(({ key }) => tagValue(found, key, fold) === undefined);
}

/**
 * Whether `name` is the name of the one role that Cluster API Provider AWS shares among profiles. This role never
 * belongs to this controller. IAM compares role names without regard to case.
 */
export const isSharedByCapa = (name: RoleName): boolean => name.toLowerCase() === CAPA_SHARED_ROLE;

function hasClusterTag(tags: Tags, cluster: ClusterName | undefined, fold: KeyFold): boolean {
  return cluster !== undefined && tagValue(tags, clusterTag(cluster), fold) === OWNED;
}

function ownershipByClusterTags(tags: Tags, fold: KeyFold): Ownership {
  const owners = Object.entries(tags)
    .filter(([key, value]) => fold(key).startsWith(CLUSTER_TAG_PREFIX) && value === OWNED)
    .map(([key]) => key.slice(CLUSTER_TAG_PREFIX.length))
    .toSorted();
  return owners.length > 0
    ? {
        kind: 'foreign',
        whose: `cluster ${owners.join(', ')} (tag ${CLUSTER_TAG_PREFIX}${owners[0]}=${OWNED}), but not to this object`,
        claimed: true,
      }
    : { kind: 'foreign', whose: 'an unknown owner (no tag names the owner)', claimed: false };
}
