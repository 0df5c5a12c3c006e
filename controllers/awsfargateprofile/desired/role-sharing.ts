import * as E from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { type Tags, foldCase, hasNoTags, sortedEntries } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { TypedStoreReader } from '../../../pkg/kube/cache/typed-store.ts';
import { jsonEqual } from '../../../pkg/kube/patches.ts';
import { BY_ROLE, clusterIndexOf, rolesOf } from '../../shared/caches.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { currentProfileNameOf, roleNameOf } from '../../shared/profile-names.ts';
import { type KnownLocation, locationOf } from '../../shared/note.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';

export interface RoleSettings {
  /** All objects with spec.clusterName ask for these tags too. */
  readonly controlPlaneTags: Tags;
  /** The boundary may come from the operator's limits. */
  readonly boundaryOf: (roleSharer: AWSFargateProfile) => string | undefined;
}

/** The other objects of the namespace that name the role. Their EKS clusters may be others. */
export function findRoleSharers(
  object: AWSFargateProfile,
  profiles: Pick<TypedStoreReader<AWSFargateProfile>, 'byIndex'>,
): readonly AWSFargateProfile[] {
  const sharers: AWSFargateProfile[] = [];
  for (const role of rolesOf(E.right(object))) {
    const listing = profiles.byIndex(BY_ROLE, role);
    for (const { decoded } of listing.kind === 'listed' ? listing.entries : [])
      if (E.isRight(decoded) && decoded.right.metadata.uid !== object.metadata.uid && !isDeleting(decoded.right))
        sharers.push(decoded.right);
  }
  return sharers;
}

/**
 * Of two objects that share a managed role but ask for other settings, the older one wins. Otherwise each would undo
 * the changes of the other.
 */
export function roleSettingsConflict(
  object: AWSFargateProfile,
  roleSharers: readonly AWSFargateProfile[],
  { controlPlaneTags, boundaryOf }: RoleSettings,
): Reason | undefined {
  const name = roleNameOf(object);
  if (name === undefined) return undefined;
  const tags = tagsByFoldedKey(object, controlPlaneTags);
  let oldest: { readonly other: AWSFargateProfile; readonly settings: readonly string[] } | undefined;
  for (const other of roleSharers) {
    if (!isOlder(other, object) || (oldest !== undefined && !isOlder(other, oldest.other))) continue;
    const theirs = tagsByFoldedKey(other, controlPlaneTags);
    const settings = [...differingSettings(object, other, boundaryOf), ...differingTags(tags, theirs)];
    if (settings.length > 0) oldest = { other, settings };
  }
  if (oldest === undefined) return undefined;
  const { other, settings } = oldest;
  const profile = currentProfileNameOf(object);
  const isProvisioned = object.status?.initialization?.provisioned === true;
  const who = `AWSFargateProfile ${other.metadata.namespace}/${other.metadata.name}`;
  return currentProfileNameOf(other) === profile
    ? newReason('ProfileNotOwned', { name: profile, whose: who, isProvisioned })
    : newReason('RoleSettingsConflict', { name, other: who, settings, isProvisioned });
}

/**
 * One may name the EKS cluster in spec.eksCluster and the other the Cluster, so the recorded locations count. An object
 * without location has nothing in AWS yet, and counts if it names the EKS cluster in the same way.
 */
export function isInEksCluster(
  other: AWSFargateProfile,
  object: AWSFargateProfile,
  { account, region, eksCluster }: KnownLocation,
): boolean {
  const location = locationOf(other);
  if (location.kind === 'known')
    return location.account === account && location.region === region && location.eksCluster === eksCluster;
  const [named, namedByObject] = [other.spec.eksCluster, object.spec.eksCluster];
  return (
    jsonEqual(clusterIndexOf(other), clusterIndexOf(object)) &&
    jsonEqual(named?.identityRef, namedByObject?.identityRef) &&
    (named?.region ?? region) === region
  );
}

function isOlder(a: AWSFargateProfile, b: AWSFargateProfile): boolean {
  const [createdA, createdB] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return createdA === createdB ? a.metadata.name < b.metadata.name : createdA < createdB;
}

function differingSettings(
  one: AWSFargateProfile,
  other: AWSFargateProfile,
  boundaryOf: RoleSettings['boundaryOf'],
): readonly string[] {
  const [{ spec: a }, { spec: b }] = [one, other];
  return [
    ...((a.rolePath ?? '/') === (b.rolePath ?? '/') ? [] : ['rolePath']),
    ...(boundaryOf(one) === boundaryOf(other) ? [] : ['rolePermissionsBoundary']),
    ...(jsonEqual(sorted(a.roleAdditionalPolicies), sorted(b.roleAdditionalPolicies))
      ? []
      : ['roleAdditionalPolicies']),
  ];
}

type Tag = readonly [key: string, value: string];

/** IAM ignores upper and lower case in tag keys. The tags of the object come before those of the control plane. */
function tagsByFoldedKey({ spec }: AWSFargateProfile, controlPlaneTags: Tags): ReadonlyMap<string, Tag> {
  const inherited = spec.clusterName === undefined || hasNoTags(controlPlaneTags) ? NO_TAGS : controlPlaneTags;
  const known = foldedTags.get(spec);
  if (known?.inherited === inherited) return known.tags;
  const tags = new Map<string, Tag>();
  for (const tag of [...sortedEntries(spec.additionalTags ?? NO_TAGS), ...sortedEntries(inherited)])
    if (!tags.has(foldCase(tag[0]))) tags.set(foldCase(tag[0]), tag);
  foldedTags.set(spec, { inherited, tags });
  return tags;
}

const NO_TAGS: Tags = {};
/** By spec: each pass of an object that shares a role asks for the tags of all of them. */
const foldedTags = new WeakMap<object, { readonly inherited: Tags; readonly tags: ReadonlyMap<string, Tag> }>();

const differingTags = (mine: ReadonlyMap<string, Tag>, theirs: ReadonlyMap<string, Tag>): readonly string[] =>
  [...mine]
    .filter(([folded, [, value]]) => (theirs.get(folded)?.[1] ?? value) !== value)
    .map(([, [key]]) => `additionalTags["${key}"]`);

const sorted = (list: readonly string[] = []): readonly string[] => [...new Set(list)].toSorted();
