import * as E from 'fp-ts/lib/Either.js';
import type { TypedStoreReader } from 'controller-runtime/cache';
import type { ObjectKey } from 'controller-runtime/client';
import { jsonEqual } from 'controller-runtime/json';
import type { RoleName } from '../../../../api/names.ts';
import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../../pkg/cloud/index.ts';
import { type AwsLocation, parseRoleArn } from '../../../../pkg/fargate/arns.ts';
import { isSameRoleName } from '../../../../pkg/fargate/names.ts';
import { type OperatorLimits, requiredBoundary } from '../../../../pkg/fargate/operator-limits.ts';
import { OWNER_TAG, type Tags, keepCase, ownerTagValue, tagValue } from '../../../../pkg/fargate/tags/tag-keys.ts';
import type { SourcedTag } from '../../../../pkg/fargate/tags/tag-limits.ts';
import { roleTagsOfUsers } from '../../../../pkg/fargate/tags/tags-to-set.ts';
import { BY_ROLE, roleKeyOf } from '../../../shared/caches.ts';
import { type KnownLocation, recordOf, roleEntryOf } from '../../../shared/record.ts';
import { isDeleting, isSpecFixed } from '../../../shared/object-state.ts';
import { currentProfileNameOf, rolePathOf } from '../../../shared/profile-names.ts';
import { type Reason, newReason } from '../../reasons/reasons.ts';
import type { DesiredInputs } from '../../desired/desired.ts';
import { placeOf } from '../../model/owner.ts';
import type { SharersSettings } from '../../model/desired-state.ts';
import { ACTIVE, CREATE_FAILED, DELETING } from '../../model/profile-status.ts';
import { isInEksCluster } from './live-objects.ts';

export interface SharedRole {
  readonly name: RoleName;
  readonly place: AwsLocation;
  readonly eksCluster: KnownLocation['eksCluster'];
  readonly limits: OperatorLimits;
  /** The control plane's tags, which each object with spec.clusterName sets on its role too. */
  readonly controlPlaneTags: Tags;
}

export const sharedRole = (name: RoleName, { target, account, limits, creationFacts }: DesiredInputs): SharedRole => ({
  name,
  place: placeOf(target, account),
  eksCluster: target.eksCluster,
  limits,
  controlPlaneTags: creationFacts?.controlPlaneTags ?? {},
});

/** Returns what this manager's other objects want that use the role. */
export function cachedSharersSettings(
  object: AWSFargateProfile,
  role: SharedRole,
  profiles: readonly FargateProfile[],
  cache: Pick<TypedStoreReader<AWSFargateProfile>, 'byIndex' | 'lookup'>,
): SharersSettings {
  // An object that names the role in spec.roleARN is not in the index, and its settings do not concern the role.
  const isKnown = (owner: ObjectKey): boolean => {
    const lookup = cache.lookup(owner);
    if (lookup.kind !== 'found' || E.isLeft(lookup.decoded)) return false;
    const { spec, metadata } = lookup.decoded.right;
    return !isDeleting({ metadata }) && isSameRoleName(parseRoleArn(spec.roleARN ?? '')?.name, role.name);
  };
  return settingsOfSharers(object, findRoleSharers(object, role.name, cache), role, profiles, isKnown);
}

/** Returns the other objects in the namespace that use the role. Their EKS clusters may differ. */
export function findRoleSharers(
  { metadata }: AWSFargateProfile,
  role: RoleName,
  profiles: Pick<TypedStoreReader<AWSFargateProfile>, 'byIndex'>,
): readonly AWSFargateProfile[] {
  const listing = profiles.byIndex(BY_ROLE, roleKeyOf(metadata.namespace, role));
  const entries = listing.kind === 'listed' ? listing.entries : [];
  return entries.flatMap(({ decoded }) =>
    E.isRight(decoded) && decoded.right.metadata.uid !== metadata.uid && !isDeleting(decoded.right)
      ? [decoded.right]
      : [],
  );
}

/**
 * If objects want different settings for a shared role, one object's settings apply ({@link hasPrecedence}). Otherwise
 * each object's reconcile would undo the other's changes. `profiles` are the EKS cluster's profiles: an object may have
 * lost its record, or got another one's, so only these show which objects have a profile here that uses the role.
 * `isKnown` says whether the manager has an object, from the owner tag of a profile, that still uses the role.
 */
export function settingsOfSharers(
  object: AWSFargateProfile,
  sharers: readonly AWSFargateProfile[],
  role: SharedRole,
  profiles: readonly FargateProfile[],
  isKnown: (owner: ObjectKey) => boolean = () => false,
): SharersSettings {
  const users = profiles.filter(
    ({ podExecutionRoleArn: arn, status }) =>
      isSameRoleName(parseRoleArn(arn)?.name, role.name) && status !== DELETING && status !== CREATE_FAILED,
  );
  const { account, region } = role.place;
  const location = { account, region, eksCluster: role.eksCluster };
  const profilesOf = ({ metadata }: AWSFargateProfile) =>
    users.filter((user) => ownerIn(user) === ownerTagValue(metadata));
  const isServing = (each: AWSFargateProfile) => profilesOf(each).some(({ status }) => status === ACTIVE);
  const inCluster = sharers.filter((other) => isInEksCluster(other, object, location) || isServing(other));
  const keysOfOthers = inCluster.flatMap((other) => [...roleTagsOfUsers(other, role.controlPlaneTags).keys()]);
  const preferences = [
    isServing,
    (each: AWSFargateProfile) => profilesOf(each).length > 0,
    (each: AWSFargateProfile) => hasServed(each, role.name),
  ];
  const ahead = inCluster
    .filter((other) => hasPrecedence(other, object, preferences))
    .toSorted((one, other) => (hasPrecedence(one, other, preferences) ? -1 : 1));
  const different = findDifference(object, ahead, role);
  const isUnknown = (user: FargateProfile): boolean => {
    if ([object, ...sharers].some(({ metadata }) => ownerTagValue(metadata) === ownerIn(user))) return false;
    const owner = ownerWithin(object.metadata.namespace, user);
    return owner !== undefined && !isKnown(owner);
  };
  return {
    roleConflict: different && conflictReason(object, role.name, different),
    keysOfOthers: [...new Set(keysOfOthers)],
    unknownUsers: users.filter(isUnknown).map(({ name }) => name),
  };
}

const ownerIn = ({ tags }: FargateProfile): string | undefined => tagValue(tags, OWNER_TAG, keepCase);

/** Other namespaces do not count, so that no tenant can delay another one's changes. */
function ownerWithin(namespace: string, user: FargateProfile): ObjectKey | undefined {
  const owner = ownerIn(user);
  return owner?.startsWith(`${namespace}/`) === true
    ? { namespace, name: owner.slice(namespace.length + 1) }
    : undefined;
}

interface Difference {
  readonly other: AWSFargateProfile;
  /** Fields below `spec`. */
  readonly settings: readonly string[];
}

/**
 * Returns the first difference to an object of `ahead`, which is sorted by precedence. Objects that differ from one
 * ahead of them change nothing in AWS, so their settings do not count.
 */
function findDifference(
  object: AWSFargateProfile,
  ahead: readonly AWSFargateProfile[],
  role: SharedRole,
): Difference | undefined {
  const tagsOf = (each: AWSFargateProfile) => roleTagsOfUsers(each, role.controlPlaneTags);
  const tagsOfObject = tagsOf(object);
  const [first = object] = ahead;
  const applied = new Map<string, SourcedTag>();
  for (const other of ahead) {
    const tags = tagsOf(other);
    const isApplied = [...differingFields(other, first, role), ...differingTags(applied, tags)].length === 0;
    if (!isApplied) continue;
    const different = [...differingFields(object, other, role), ...differingTags(tagsOfObject, tags)];
    if (different.length > 0) return { other, settings: different };
    for (const [key, tag] of tags) applied.set(key, tag);
  }
  return undefined;
}

function conflictReason(object: AWSFargateProfile, name: RoleName, { other, settings }: Difference): Reason {
  const profile = currentProfileNameOf(object);
  const who = `AWSFargateProfile ${other.metadata.namespace}/${other.metadata.name}`;
  return currentProfileNameOf(other) === profile
    ? newReason('ProfileNotOwned', { name: profile, whose: who, isSpecFixed: isSpecFixed(object) })
    : newReason('RoleSettingsConflict', { name, other: who, settings, isSpecFixed: isSpecFixed(object) });
}

/**
 * An object that serves has precedence over an object that does not, because pods run with the first object's settings.
 * Next comes an object with a profile that is not ACTIVE, usually because EKS is creating it. If neither object has a
 * profile, for example because a user has deleted the profile in AWS, an object whose record shows that it has served
 * has precedence. A restore recreates the objects in any order, so age decides only between equal objects.
 */
function hasPrecedence(
  a: AWSFargateProfile,
  b: AWSFargateProfile,
  preferences: readonly ((object: AWSFargateProfile) => boolean)[],
): boolean {
  for (const isPreferred of preferences) {
    const prefersA = isPreferred(a);
    if (prefersA !== isPreferred(b)) return prefersA;
  }
  return isOlder(a, b);
}

/** A recorded role is `checked` once the object has matched its spec with the role. */
const hasServed = (object: AWSFargateProfile, role: RoleName): boolean =>
  roleEntryOf(recordOf(object), role)?.checked === true;

function isOlder(a: AWSFargateProfile, b: AWSFargateProfile): boolean {
  const [createdA, createdB] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return createdA === createdB ? a.metadata.name < b.metadata.name : createdA < createdB;
}

/** Compares the fields but tags. The operator's limits may require a boundary. */
function differingFields(
  objectA: AWSFargateProfile,
  objectB: AWSFargateProfile,
  { place, limits }: SharedRole,
): readonly string[] {
  const [a, b] = [objectA.spec, objectB.spec];
  const isSameBoundary =
    requiredBoundary(limits, place) !== undefined || a.rolePermissionsBoundary === b.rolePermissionsBoundary;
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
