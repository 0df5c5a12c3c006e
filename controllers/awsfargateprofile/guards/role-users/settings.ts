import * as E from 'fp-ts/lib/Either.js';
import type { TypedStoreReader } from 'controller-runtime/cache';
import { jsonEqual } from 'controller-runtime/json';
import type { RoleName } from '../../../../api/names.ts';
import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import type { AwsLocation } from '../../../../pkg/fargate/arns.ts';
import { type OperatorLimits, requiredBoundary } from '../../../../pkg/fargate/operator-limits.ts';
import type { Tags } from '../../../../pkg/fargate/tags/tag-keys.ts';
import type { SourcedTag } from '../../../../pkg/fargate/tags/tag-limits.ts';
import { roleTagsOfUsers } from '../../../../pkg/fargate/tags/tags-to-set.ts';
import { BY_ROLE, rolesOf } from '../../../shared/caches.ts';
import { type KnownLocation, recordOf, roleEntryOf } from '../../../shared/record.ts';
import { isDeleting, isProvisioned } from '../../../shared/object-state.ts';
import { currentProfileNameOf, roleNameOf, rolePathOf } from '../../../shared/profile-names.ts';
import { type Reason, newReason } from '../../reasons/reasons.ts';
import { isInEksCluster } from './live-users.ts';

export interface RoleSettings {
  readonly place: AwsLocation;
  readonly eksCluster: KnownLocation['eksCluster'];
  readonly limits: OperatorLimits;
  /** The control plane's tags, which each object with spec.clusterName sets on its role too. */
  readonly controlPlaneTags: Tags;
}

export interface SharersSettings {
  /** Set if an object with precedence wants different settings for the role. */
  readonly roleConflict: Reason | undefined;
  /** The lower-case keys of the tags that other objects want on the role. */
  readonly keysOfOthers: readonly string[];
}

/** Returns the other objects in the namespace that want the same role name. Their EKS clusters may differ. */
export function findRoleSharers(
  object: AWSFargateProfile,
  profiles: Pick<TypedStoreReader<AWSFargateProfile>, 'byIndex'>,
): readonly AWSFargateProfile[] {
  return rolesOf(E.right(object)).flatMap((role) => {
    const listing = profiles.byIndex(BY_ROLE, role);
    const entries = listing.kind === 'listed' ? listing.entries : [];
    return entries.flatMap(({ decoded }) =>
      E.isRight(decoded) && decoded.right.metadata.uid !== object.metadata.uid && !isDeleting(decoded.right)
        ? [decoded.right]
        : [],
    );
  });
}

/**
 * If objects want different settings for a shared role, one object's settings apply ({@link hasPrecedence}). Otherwise
 * each object's reconcile would undo the other's changes.
 */
export function settingsOfSharers(
  object: AWSFargateProfile,
  sharers: readonly AWSFargateProfile[],
  { place, eksCluster, limits, controlPlaneTags }: RoleSettings,
): SharersSettings {
  const location = { account: place.account, region: place.region, eksCluster };
  const boundary = requiredBoundary(limits, place);
  const tagsOfObject = roleTagsOfUsers(object, controlPlaneTags);
  const keysOfOthers = new Set<string>();
  const name = roleNameOf(object);
  let first: { readonly other: AWSFargateProfile; readonly settings: readonly string[] } | undefined;
  for (const other of sharers) {
    if (!isInEksCluster(other, object, location)) continue;
    const tags = roleTagsOfUsers(other, controlPlaneTags);
    for (const folded of tags.keys()) keysOfOthers.add(folded);
    if (!hasPrecedence(other, object, name) || (first !== undefined && !hasPrecedence(other, first.other, name)))
      continue;
    const settings = [...differingSettings(object, other, boundary), ...differingTags(tagsOfObject, tags)];
    if (settings.length > 0) first = { other, settings };
  }
  const roleConflict = name && first && conflictReason(object, name, first);
  return { roleConflict, keysOfOthers: [...keysOfOthers] };
}

function conflictReason(
  object: AWSFargateProfile,
  name: RoleName,
  { other, settings }: { readonly other: AWSFargateProfile; readonly settings: readonly string[] },
): Reason {
  const profile = currentProfileNameOf(object);
  const who = `AWSFargateProfile ${other.metadata.namespace}/${other.metadata.name}`;
  return currentProfileNameOf(other) === profile
    ? newReason('ProfileNotOwned', { name: profile, whose: who, isProvisioned: isProvisioned(object) })
    : newReason('RoleSettingsConflict', { name, other: who, settings, isProvisioned: isProvisioned(object) });
}

/**
 * An object whose profile has been ACTIVE with this role has precedence over an object whose profile has not, because
 * pods run with the first object's settings. A restore recreates the objects in any order, so age decides only between
 * equal objects.
 */
function hasPrecedence(a: AWSFargateProfile, b: AWSFargateProfile, role: RoleName | undefined): boolean {
  const hasServed = hasServedWith(a, role);
  return hasServed === hasServedWith(b, role) ? isOlder(a, b) : hasServed;
}

/** A recorded role is `checked` once the object has matched its spec with the role. */
const hasServedWith = (object: AWSFargateProfile, role: RoleName | undefined): boolean =>
  role !== undefined && roleEntryOf(recordOf(object), role)?.checked === true;

function isOlder(a: AWSFargateProfile, b: AWSFargateProfile): boolean {
  const [createdA, createdB] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return createdA === createdB ? a.metadata.name < b.metadata.name : createdA < createdB;
}

/** `boundary` is the permissions boundary that the operator's limits require for every role. */
function differingSettings(
  objectA: AWSFargateProfile,
  objectB: AWSFargateProfile,
  boundary: string | undefined,
): readonly string[] {
  const [a, b] = [objectA.spec, objectB.spec];
  const isSameBoundary = boundary !== undefined || a.rolePermissionsBoundary === b.rolePermissionsBoundary;
  return [
    ...(rolePathOf(objectA) === rolePathOf(objectB) ? [] : ['rolePath']),
    ...(isSameBoundary ? [] : ['rolePermissionsBoundary']),
    ...(jsonEqual(sorted(a.roleAdditionalPolicies), sorted(b.roleAdditionalPolicies))
      ? []
      : ['roleAdditionalPolicies']),
  ];
}

const sorted = (list: readonly string[] = []): readonly string[] => [...new Set(list)].toSorted();

const differingTags = (
  mine: ReadonlyMap<string, SourcedTag>,
  theirs: ReadonlyMap<string, SourcedTag>,
): readonly string[] =>
  [...theirs].flatMap(([folded, { value }]) => {
    const tag = mine.get(folded);
    return tag === undefined || tag.value === value ? [] : [`additionalTags["${tag.key}"]`];
  });
