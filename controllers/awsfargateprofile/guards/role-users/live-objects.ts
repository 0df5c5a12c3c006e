import * as E from 'fp-ts/lib/Either.js';
import type { Decoded } from 'controller-runtime/cache';
import { keyOf, keyText, type KubeObject } from 'controller-runtime/client';
import { jsonEqual } from 'controller-runtime/json';
import type { RoleName } from '../../../../api/names.ts';
import { type AWSFargateProfile, WATCH_FILTER_LABEL, decodeAWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import { parseRoleArn } from '../../../../pkg/fargate/arns.ts';
import { isSameRoleName } from '../../../../pkg/fargate/names.ts';
import { ownerTagValue } from '../../../../pkg/fargate/tags/tag-keys.ts';
import { clusterIndexOf } from '../../../shared/caches.ts';
import { type FreshProfilesSources, newReadFreshProfiles } from '../../../shared/fresh-profiles.ts';
import { listLiveProfiles } from '../../../shared/live-profiles.ts';
import {
  type KnownLocation,
  formatLocation,
  locationOf,
  managedRolesIn,
  recordOf,
  readRecord,
} from '../../../shared/record.ts';
import { hasFinalizer, isDeleting } from '../../../shared/object-state.ts';
import { roleNameOf, usedRoleNamesOf } from '../../../shared/profile-names.ts';

/** A role, and the EKS cluster for whose profiles it was created. */
export interface RoleInCluster {
  readonly name: RoleName;
  readonly location: KnownLocation;
}

/** The users of a role that is about to be deleted for an object. */
export interface RoleUsers {
  /** The key of another AWSFargateProfile that has the finalizer and uses the role. */
  readonly other: string | undefined;
  /**
   * AWSFargateProfiles that are being deleted, and use the role only while EKS has a profile of theirs. Maps the
   * profile's owner tag to the object's key.
   */
  readonly leaving: ReadonlyMap<string, string>;
}

/** Other managers' objects in the object's namespace that share its role. */
export interface RoleSharers {
  /** The key of another object for which a manager may be deleting the role now. */
  readonly possibleDeleter: string | undefined;
  /** The objects in the same EKS cluster that want the role. */
  readonly sharers: readonly AWSFargateProfile[];
}

/** Asks the API server, so that each answer is at least as new as the call. */
export interface LiveRoleUsers {
  usersOf(role: RoleInCluster, object: AWSFargateProfile, signal: AbortSignal): Promise<RoleUsers>;
  sharersOf(role: RoleInCluster, object: AWSFargateProfile, signal: AbortSignal): Promise<RoleSharers>;
}

/** `sharersOf` reads only objects without the label value `watchFilter`, because the manager's cache has the others. */
export function newLiveRoleUsers(
  sources: FreshProfilesSources & { readonly watchFilter?: string | undefined },
): LiveRoleUsers {
  const { client, watchFilter } = sources;
  const readUsers = newReadFreshProfiles(sources, (object, decoded) =>
    hasFinalizer(object) ? toRoleUser(object, decoded) : undefined,
  );
  return {
    usersOf: async (role, object, signal) => {
      const others = (await readUsers(signal)).filter(({ uid }) => uid !== object.metadata.uid);
      const leaving = others.filter(({ mayUse }) => mayUse(role, object) === 'whileItHasProfile');
      return {
        other: others.find(({ mayUse }) => mayUse(role, object) === 'yes')?.key,
        leaving: new Map(leaving.map(({ owner, key }) => [owner, key])),
      };
    },
    sharersOf: async (role, object, signal) => {
      if (watchFilter === undefined) return { possibleDeleter: undefined, sharers: [] };
      const { namespace, uid } = object.metadata;
      const others: AWSFargateProfile[] = [];
      const scope = { namespace, labelSelector: `${WATCH_FILTER_LABEL}!=${watchFilter}` };
      for await (const item of listLiveProfiles(client, scope, signal)) {
        const decoded = decodeAWSFargateProfile(item);
        if (E.isRight(decoded) && item.metadata.uid !== uid) others.push(decoded.right);
      }
      const possibleDeleter = others.find((other) => mayBeDeletingRole(other, object, role));
      return {
        possibleDeleter: possibleDeleter && keyText(keyOf(possibleDeleter)),
        sharers: others.filter((other) => wants(other, role.name) && isInEksCluster(other, object, role.location)),
      };
    },
  };
}

type MayUse = 'yes' | 'no' | 'whileItHasProfile';

interface RoleUser {
  readonly key: string;
  /** The value of the owner tag on the object's Fargate profiles. */
  readonly owner: string;
  readonly uid: string | undefined;
  /** `deleted` is the object for which the role is to be deleted. */
  readonly mayUse: (role: RoleInCluster, deleted: AWSFargateProfile) => MayUse;
}

function toRoleUser(item: KubeObject, decoded: Decoded<AWSFargateProfile>): RoleUser {
  const isReadable = E.isRight(decoded) && readRecord(decoded.right).kind !== 'unreadable';
  const mayUse = isReadable ? mayUseByFields(decoded.right) : mayUseByText(item);
  const key = keyOf(item);
  return { key: keyText(key), owner: ownerTagValue(key), uid: item.metadata.uid, mayUse };
}

/** An object that cannot be decoded, or whose record is unreadable, may use each role whose name it contains. */
const mayUseByText =
  (item: KubeObject): RoleUser['mayUse'] =>
  ({ name, location }, deleted) =>
    mentions(item, name) && (isNeighbour(item, deleted) || isRecordedIn(statusOf(item), location)) ? 'yes' : 'no';

const isNeighbour = (one: Pick<KubeObject, 'metadata'>, other: Pick<KubeObject, 'metadata'>): boolean =>
  one.metadata.namespace === other.metadata.namespace;

/**
 * Compares only status, because another team could put any role in spec and annotations of an object in another
 * namespace, and so prevent the role's deletion forever. No user of the role is missed: its trust policy admits only
 * profiles of its own EKS cluster, and EKS is asked about these.
 */
const isRecordedIn = (
  { account, region, eksClusterName }: Readonly<Record<string, unknown>>,
  location: KnownLocation,
): boolean => account === location.account && region === location.region && eksClusterName === location.eksCluster;

const statusOf = ({ status }: KubeObject): Readonly<Record<string, unknown>> =>
  typeof status === 'object' ? { ...status } : {};

/**
 * Decides whether `object` may use a role that is to be deleted for another object:
 * - An object that is being deleted may already have left the role to the other object, so it counts as a user only
 *   while EKS has its profile.
 * - An object for which nothing was created in AWS creates the role when it begins, so it is not a user yet. If it is
 *   deleted before that, its manager does not call AWS.
 * - A record in another namespace is ignored, because every user who can write the object can write its record.
 */
function mayUseByFields(object: AWSFargateProfile): RoleUser['mayUse'] {
  const { status = {} } = object;
  const record = recordOf(object);
  const own = [roleNameOf(object), roleNameInArn(object.spec.roleARN), roleNameInArn(status.podExecutionRoleARN)];
  const here = foldedNames([...own, ...record.roles.map(({ name }) => name)]);
  const elsewhere = foldedNames([...own, status.role?.name]);
  const known = record.in.kind === 'known' ? record.in : undefined;
  const account = known?.account ?? parseRoleArn(object.spec.roleARN ?? '')?.account;
  const cluster = clusterIndexOf(object);
  const isAsking = record.profiles.some(({ requestedAt }) => requestedAt !== undefined);
  return ({ name, location }, deleted) => {
    const role = name.toLowerCase();
    if (!isNeighbour(object, deleted))
      return elsewhere.has(role) && isRecordedIn({ ...status }, location) ? 'yes' : 'no';
    if (!here.has(role) || record.in.kind === 'none') return 'no';
    const isThere = known !== undefined && formatLocation(known) === formatLocation(location);
    if (isDeleting(object) && isThere && !isAsking) return 'whileItHasProfile';
    // An object whose account is unknown uses a role only if both objects refer to their cluster in the same way.
    // Otherwise an object that waits for another account's credentials would keep a role of the same name here forever.
    return (account === undefined ? jsonEqual(cluster, clusterIndexOf(deleted)) : location.account === account)
      ? 'yes'
      : 'no';
  };
}

const foldedNames = (names: readonly (string | undefined)[]): ReadonlySet<string | undefined> =>
  new Set(names.map((name) => name?.toLowerCase()));

/** True if a string in the object is the role's name, or an ARN that ends with it. */
function mentions(object: unknown, role: RoleName): boolean {
  // This is a loop, because an object that cannot be decoded may be nested too deeply for the stack.
  const unvisited = [object];
  while (unvisited.length > 0) {
    const value = unvisited.pop();
    if (typeof value === 'string' && (roleNameInArn(value) ?? value).toLowerCase() === role.toLowerCase()) return true;
    if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) unvisited.push(each);
  }
  return false;
}

const roleNameInArn = (arn: string | undefined): string | undefined => arn?.slice(arn.lastIndexOf('/') + 1);

const wants = (object: AWSFargateProfile, role: RoleName): boolean =>
  !isDeleting(object) && usedRoleNamesOf(object).some((each) => isSameRoleName(each, role));

/** True if another manager manages the role for `other`, and `other` no longer needs it. */
function mayBeDeletingRole(
  other: AWSFargateProfile,
  object: AWSFargateProfile,
  { name, location }: RoleInCluster,
): boolean {
  // The role of a replacement may be deleted again, if the spec is reverted.
  const [needed] = isDeleting(other) ? [] : usedRoleNamesOf(other);
  if (!hasFinalizer(other) || isSameRoleName(needed, name)) return false;
  const recorded = managedRolesIn(recordOf(other));
  const own = [...(isDeleting(other) ? [roleNameOf(other)] : []), ...recorded.map((each) => each.name)];
  return isInEksCluster(other, object, location) && own.some((each) => isSameRoleName(each, name));
}

/**
 * Compares the recorded location of `other`, because one object may refer to the EKS cluster in spec.eksCluster and the
 * other through its Cluster. If `other` has no location, it has nothing in AWS yet, and the result is true if both
 * objects refer to the EKS cluster in the same way.
 */
export function isInEksCluster(other: AWSFargateProfile, object: AWSFargateProfile, here: KnownLocation): boolean {
  const location = locationOf(other);
  if (location.kind === 'known') return formatLocation(location) === formatLocation(here);
  const [named, namedByObject] = [other.spec.eksCluster, object.spec.eksCluster];
  return (
    jsonEqual(clusterIndexOf(other), clusterIndexOf(object)) &&
    jsonEqual(named?.identityRef, namedByObject?.identityRef) &&
    (named?.region ?? here.region) === here.region
  );
}
