import type { ClusterName, ProfileName, RoleName } from '../../api/names.ts';
import { CAPA_SHARED_ROLE } from './names.ts';
import type { KeyFold, RoleOwner, Tags } from './tags/tag-keys.ts';
import {
  CLUSTER_TAG_PREFIX,
  EKS_CLUSTER_TAG,
  NAMESPACE_TAG,
  OWNED,
  OWNER_TAG,
  clusterTag,
  ownerTagValue,
  roleOwnershipTags,
  keepCase,
  foldCase,
  tagValue,
} from './tags/tag-keys.ts';

/** CAPA may have created these resources. They are recognized by name, because CAPA's tags do not name the object. */
export interface AdoptableNames {
  readonly profile: ProfileName;
  readonly roles: readonly RoleName[];
}

export type Ownership =
  /** If not `stamped`, CAPA created the resource for this object, and this controller must tag the resource first. */
  | { readonly kind: 'ours'; readonly stamped: boolean }
  /**
   * The resource must not be changed or deleted. `whose` completes the sentence "it belongs to …". `claimed` means that
   * a tag identifies an owner, or that the resource is the role that CAPA shares. If it is false, `spec.adoptionPolicy:
   * Always` lets the controller adopt a Fargate profile.
   */
  | { readonly kind: 'foreign'; readonly whose: string; readonly claimed: boolean };

/**
 * A profile with an owner tag is ours if the tag contains the AWSFargateProfile. A profile without one is ours if CAPA
 * created it for the AWSFargateProfile: it then has CAPA's cluster tag and the name `adoptable.profile`.
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
 * This controller tags its roles with EKS cluster and namespace. A role with both tags is ours if both match: a control
 * plane in a different namespace may use the same EKS cluster.
 *
 * A role that lacks one of these tags is ours if the other tag does not contain a different owner, and if CAPA created
 * it for the AWSFargateProfile: it then has CAPA's cluster tag and one of the names `adoptable.roles`.
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

interface OwnershipTag {
  readonly key: string;
  readonly value: string;
}

const tagsOfProfile = (object: { readonly namespace: string; readonly name: string }): readonly OwnershipTag[] => [
  { key: OWNER_TAG, value: ownerTagValue(object) },
];

const tagsOfRole = (owner: RoleOwner): readonly OwnershipTag[] =>
  Object.entries(roleOwnershipTags(owner)).map(([key, value]) => ({ key, value }));

/** Whether the profile's owner tag contains a different AWSFargateProfile. */
export const isTaggedByOthers = (tags: Tags, object: { readonly namespace: string; readonly name: string }): boolean =>
  namesAnother(tags, tagsOfProfile(object), keepCase);

/** Does the same as {@link isTaggedByOthers} for a role. */
export const isRoleTaggedByOthers = (tags: Tags, owner: RoleOwner): boolean =>
  namesAnother(tags, tagsOfRole(owner), foldCase);

/** Returns the ownership tags that the profile lacks. Returns none if its ownership tags name a different owner. */
export const missingProfileTags = (
  tags: Tags,
  object: { readonly namespace: string; readonly name: string },
): readonly OwnershipTag[] => missingTags(tags, tagsOfProfile(object), keepCase);

/** Returns the ownership tags that the role lacks, or none if one of its ownership tags contains a different owner. */
export const missingRoleTags = (tags: Tags, owner: RoleOwner): readonly OwnershipTag[] =>
  missingTags(tags, tagsOfRole(owner), foldCase);

function missingTags(found: Tags, wanted: readonly OwnershipTag[], fold: KeyFold): readonly OwnershipTag[] {
  const isForeign = namesAnother(found, wanted, fold);
  return isForeign ? [] : wanted.filter(({ key }) => tagValue(found, key, fold) === undefined);
}

const namesAnother = (found: Tags, wanted: readonly OwnershipTag[], fold: KeyFold): boolean =>
  wanted.some(({ key, value }) => (tagValue(found, key, fold) ?? value) !== value);

/** CAPA shares this role among profiles, so it is never ours. IAM ignores case in role names. */
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
    : { kind: 'foreign', whose: 'an unknown owner (it has no tag that names one)', claimed: false };
}
