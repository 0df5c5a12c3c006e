import { isRight } from 'fp-ts/lib/Either.js';
import type { ProfileName, RoleName } from '../../../../api/names.ts';
import { type AWSFargateProfile, decodeAWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import { DeadlineExceeded, withDeadline, nextTurn } from '../../../../pkg/async/deadline.ts';
import { SingleFlight } from '../../../../pkg/async/single-flight.ts';
import type { Clock, Ms } from '../../../../pkg/env/clock.ts';
import { parseRoleArn } from '../../../../pkg/fargate/arns.ts';
import { isAtLeast } from '../../../../pkg/kube/cache/resource-version.ts';
import type { Decoded, TypedStoreReader } from '../../../../pkg/kube/cache/typed-store.ts';
import { keyOf, keyText } from '../../../../pkg/kube/object-key.ts';
import { jsonEqual } from '../../../../pkg/kube/patches.ts';
import type { KubeClient, KubeObject } from '../../../../pkg/kube/types.ts';
import { clusterIndexOf } from '../../../shared/caches.ts';
import type { ServedSchema } from '../../../shared/crd/served-schema.ts';
import { PAGE_SIZE, PROFILES, listLiveProfiles } from '../../../shared/live-profiles.ts';
import { hasFinalizer } from '../../../shared/object-state.ts';
import { type KnownLocation, locationOf } from '../../model/location.ts';
import { roleNameOf } from '../../../shared/profile-names.ts';

/** The name of an IAM role, and the EKS cluster for whose Fargate profiles the role was created. */
export interface RoleInCluster {
  readonly name: RoleName;
  readonly location: KnownLocation;
}

/** The other users of an IAM role, besides the AWSFargateProfile for which the controller wants to delete the role. */
export interface RoleUsers {
  /**
   * The key (`namespace/name`) of another AWSFargateProfile that has this controller's finalizer and uses the role;
   * `undefined` if there is none.
   */
  readonly other: string | undefined;
  /**
   * The names of Fargate profiles in the EKS cluster that certainly use another role, according to the status of their
   * AWSFargateProfiles in the same namespace.
   */
  readonly profilesWithOtherRole: ReadonlySet<string>;
}

/** Reads who uses an IAM role besides the AWSFargateProfile for which the controller wants to delete the role. */
export type ReadRoleUsers = (object: AWSFargateProfile, role: RoleInCluster, signal: AbortSignal) => Promise<RoleUsers>;

export interface RoleUserSources {
  readonly client: KubeClient;
  readonly clock: Clock;
  /**
   * The cache of the AWSFargateProfiles of all namespaces and all watch filters; `undefined` if the manager caches only
   * a part of them.
   */
  readonly profiles?: Pick<TypedStoreReader<AWSFargateProfile>, 'list' | 'version' | 'whenIncludes'> | undefined;
  readonly schema: Pick<ServedSchema, 'isSettled'>;
}

/**
 * The longest time that a read of the users of an IAM role waits for the watch to bring the cache up to date. While 200
 * AWSFargateProfiles were deleted, the median wait was 29 ms. A quarter of the waits was longer than 100 ms, because no
 * AWSFargateProfile changed and the watch therefore reported no newer resourceVersion.
 */
const MAX_WATCH_LAG: Ms = 200;

/** After so many objects that the manager has not compared before, other work gets its turn. */
const USERS_PER_TURN = 200;

/**
 * Returns a function that reads the other users of an IAM role. Its answer is never older than the call of the
 * function: it comes from a list of the API server, or from a cache that has caught up with the API server since the
 * call.
 *
 * When many objects are deleted, many reconciles call the function at the same time. Calls that arrive while the users
 * are being read share the next read.
 */
export function newReadRoleUsers(sources: RoleUserSources): ReadRoleUsers {
  const readings = new SingleFlight<readonly RoleUser[]>();
  const readFromCache = newCacheReader(sources);
  const readFromApiServer = newApiServerReader(sources);
  return async (object, role, signal) => {
    const all = await readings.runFresh(
      'role users',
      signal,
      async (shared) => (await readFromCache(shared)) ?? readFromApiServer(shared),
    );
    const others = all.filter(({ uid }) => uid !== object.metadata.uid);
    return {
      other: others.find(({ mayUse }) => mayUse(role, object))?.key,
      profilesWithOtherRole: new Set(others.flatMap(({ profileWithOtherRole }) => profileWithOtherRole(role, object))),
    };
  };
}

/**
 * Returns a function that reads the users of IAM roles from the cache, once the cache has every change that the API
 * server had made when the function was called. A list request for one object returns the resourceVersion that the
 * cache has to reach.
 *
 * The function returns `undefined` in these cases:
 *
 * - There is no cache of all AWSFargateProfiles, or the cache is not filled yet.
 * - The cache does not reach this resourceVersion in time.
 * - All objects fit on one page, so that a list of all objects also takes only one request.
 * - Another CRD was installed. The cache may then have objects without the fields that this CRD lacks.
 * - etcd was restored from a backup, so that the API server has an older resourceVersion than the cache.
 */
function newCacheReader({
  client,
  clock,
  profiles,
  schema,
}: RoleUserSources): (signal: AbortSignal) => Promise<readonly RoleUser[] | undefined> {
  const users = new WeakMap<KubeObject, RoleUser>();
  return async (signal) => {
    if (profiles === undefined || !schema.isSettled()) return undefined;
    const before = profiles.list();
    if (before.kind === 'unknown' || before.entries.length <= PAGE_SIZE) return undefined;
    const known = profiles.version;
    const { resourceVersion } = await client.list(PROFILES, { limit: 1, signal });
    // If the resourceVersion of the API server is older than the version of the cache, etcd was restored from a backup,
    // and the cache has not noticed the restore yet.
    if (known === undefined || !isAtLeast(resourceVersion, known)) return undefined;
    try {
      await withDeadline(clock, MAX_WATCH_LAG, signal, 'the watch of AWSFargateProfiles', (waiting) =>
        profiles.whenIncludes(resourceVersion, waiting),
      );
    } catch (error) {
      if (error instanceof DeadlineExceeded && !signal.aborted) return undefined;
      throw error;
    }
    const listing = profiles.list();
    if (listing.kind === 'unknown') return undefined;
    const found: RoleUser[] = [];
    for (const { object, decoded } of listing.entries) {
      if (!hasFinalizer(object)) continue;
      const seen = users.get(object);
      const user = seen ?? toRoleUser(object, decoded);
      users.set(object, user);
      if (found.push(user) % USERS_PER_TURN === 0 && seen === undefined) await nextTurn(clock, signal);
    }
    return found;
  };
}

function newApiServerReader({
  client,
  schema,
}: RoleUserSources): (signal: AbortSignal) => Promise<readonly RoleUser[]> {
  // The result of the last list of all AWSFargateProfiles. An object with the same resourceVersion as in this list is
  // not decoded again.
  let known: ReadonlyMap<string, RoleUser> = new Map();
  return async (signal) => {
    known = await listRoleUsers(client, schema.isSettled() ? known : new Map(), signal);
    return [...known.values()];
  };
}

/**
 * An AWSFargateProfile that has this controller's finalizer and so may use IAM roles. Only the fields for a comparison
 * of roles are kept in memory, because the list may be long.
 */
interface RoleUser {
  /** The key `namespace/name` of the AWSFargateProfile. */
  readonly key: string;
  readonly uid: string | undefined;
  /**
   * Whether this AWSFargateProfile may use an IAM role that the controller is about to delete for the AWSFargateProfile
   * `deleted`.
   */
  readonly mayUse: (role: RoleInCluster, deleted: AWSFargateProfile) => boolean;
  /**
   * Returns the name of this AWSFargateProfile's profile in EKS if that profile is in the EKS cluster of the given role
   * and uses another role. The result is empty otherwise.
   */
  readonly profileWithOtherRole: (role: RoleInCluster, deleted: AWSFargateProfile) => readonly ProfileName[];
}

/**
 * Lists the AWSFargateProfiles that may use an IAM role, with uid and resourceVersion as key. `known` is the result of
 * the last list. An object whose resourceVersion is in `known` is not decoded again.
 */
async function listRoleUsers(
  client: KubeClient,
  known: ReadonlyMap<string, RoleUser>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RoleUser>> {
  const users = new Map<string, RoleUser>();
  for await (const item of listLiveProfiles(client, {}, signal)) {
    const { uid, resourceVersion } = item.metadata;
    const version = `${uid} ${resourceVersion}`;
    if (!hasFinalizer(item)) continue;
    users.set(version, known.get(version) ?? toRoleUser(item, decodeAWSFargateProfile(item)));
  }
  return users;
}

function toRoleUser(item: KubeObject, decoded: Decoded<AWSFargateProfile>): RoleUser {
  const uses = isRight(decoded)
    ? { mayUse: mayUseByFields(decoded.right), profileWithOtherRole: profileOf(decoded.right) }
    : { mayUse: mayUseByText(item), profileWithOtherRole: () => [] };
  return { key: keyText(keyOf(item)), uid: item.metadata.uid, ...uses };
}

/**
 * An object that cannot be decoded counts as a user of each IAM role whose name occurs anywhere in the object, if it is
 * in the same namespace as the object `deleted` or its status names the EKS cluster of the role.
 */
const mayUseByText =
  (item: KubeObject): RoleUser['mayUse'] =>
  ({ name, location }, deleted) =>
    mentions(item, name) && (isNeighbour(item, deleted) || isRecordedIn(statusOf(item), location));

const isNeighbour = (one: Pick<KubeObject, 'metadata'>, other: Pick<KubeObject, 'metadata'>): boolean =>
  one.metadata.namespace === other.metadata.namespace;

/**
 * Whether the status of an AWSFargateProfile names the EKS cluster for whose profiles an IAM role was created.
 *
 * An object of another namespace counts as a user of the role only if its status names this EKS cluster. Without this
 * status, its spec and annotations do not count, because another team could name any role there and so prevent the
 * deletion of the role for ever. No user is missed: the trust policy of a managed role admits only profiles of its own
 * EKS cluster, and the controller asks EKS about these profiles.
 */
const isRecordedIn = (
  { account, region, eksClusterName }: Readonly<Record<string, unknown>>,
  location: KnownLocation,
): boolean => account === location.account && region === location.region && eksClusterName === location.eksCluster;

const statusOf = ({ status }: KubeObject): Readonly<Record<string, unknown>> =>
  typeof status === 'object' && status !== null ? { ...status } : {};

function mayUseByFields(object: AWSFargateProfile): RoleUser['mayUse'] {
  const named = [
    object.status?.role?.name,
    roleNameOf(object),
    roleNameInArn(object.spec.roleARN),
    roleNameInArn(object.status?.podExecutionRoleARN),
  ];
  const names = new Set(named.map((name) => name?.toLowerCase()));
  const known = accountOf(object);
  const { status = {} } = object;
  const cluster = clusterIndexOf(object);
  return ({ name, location }, deleted) => {
    if (!names.has(name.toLowerCase())) return false;
    if (!isNeighbour(object, deleted)) return isRecordedIn({ ...status }, location);
    return known === undefined ? jsonEqual(cluster, clusterIndexOf(deleted)) : location.account === known;
  };
}

/**
 * Returns a function that returns the name of an object's Fargate profile if the profile certainly uses another role
 * than the given role. EKS cannot change the role of a profile, so the role in status is correct as long as status has
 * the ARN of the profile. The status of an object in another namespace is not used, because another team writes it.
 */
function profileOf({ metadata, status = {} }: AWSFargateProfile): RoleUser['profileWithOtherRole'] {
  const { account, region, eksClusterName, profileName, profileARN, podExecutionRoleARN } = status;
  const roleName = roleNameInArn(podExecutionRoleARN)?.toLowerCase();
  return ({ name, location }, deleted) => {
    const isThere = isNeighbour({ metadata }, deleted) && isRecordedIn({ account, region, eksClusterName }, location);
    const isKnown = profileName !== undefined && profileARN !== undefined && roleName !== undefined;
    return isThere && isKnown && roleName !== name.toLowerCase() ? [profileName] : [];
  };
}

/**
 * Returns the AWS account of the object's IAM role, from status, the annotation `provisioned-in` or `spec.roleARN`.
 * `undefined` if the object has nothing in AWS yet. An object without account counts as a user of a role only if the
 * controller deletes the role for an object that names the cluster in the same way. Otherwise an object that waits for
 * credentials of another account would keep a role of the same name in this account for ever.
 */
function accountOf(object: AWSFargateProfile): string | undefined {
  const { spec, status } = object;
  if (status?.account !== undefined) return status.account;
  const location = locationOf(object);
  if (location.kind === 'known') return location.account;
  return spec.roleARN === undefined ? undefined : parseRoleArn(spec.roleARN)?.account;
}

/** Whether the name of the IAM role occurs anywhere in the value, as a whole string or at the end of an ARN. */
function mentions(object: unknown, role: RoleName): boolean {
  // This function uses a loop instead of recursion, because an object that cannot be decoded may be nested too deeply
  // for the stack.
  const unvisited = [object];
  while (unvisited.length > 0) {
    const value = unvisited.pop();
    if (typeof value === 'string' && (roleNameInArn(value) ?? value).toLowerCase() === role.toLowerCase()) return true;
    if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) unvisited.push(each);
  }
  return false;
}

const roleNameInArn = (arn: string | undefined): string | undefined => arn?.slice(arn.lastIndexOf('/') + 1);
