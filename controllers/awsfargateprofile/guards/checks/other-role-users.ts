import { isRight } from 'fp-ts/lib/Either.js';
import type { RoleName } from '../../../../api/names.ts';
import { type AWSFargateProfile, decodeAWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import { withDeadline, nextTurn } from '../../../../pkg/async/deadline.ts';
import { SingleFlight } from '../../../../pkg/async/single-flight.ts';
import type { Clock, Ms } from '../../../../pkg/env/clock.ts';
import { parseRoleArn } from '../../../../pkg/fargate/arns.ts';
import { ownerTagValue } from '../../../../pkg/fargate/tags/tag-keys.ts';
import { isAtLeast } from '../../../../pkg/kube/cache/resource-version.ts';
import type { Decoded, TypedStoreReader } from '../../../../pkg/kube/cache/typed-store.ts';
import { keyOf, keyText } from '../../../../pkg/kube/object-key.ts';
import { jsonEqual } from '../../../../pkg/kube/patches.ts';
import type { KubeClient, KubeObject } from '../../../../pkg/kube/types.ts';
import { clusterIndexOf } from '../../../shared/caches.ts';
import type { ServedSchema } from '../../../shared/crd/served-schema.ts';
import { PAGE_SIZE, PROFILES, listLiveProfiles } from '../../../shared/live-profiles.ts';
import { hasFinalizer, isDeleting } from '../../../shared/object-state.ts';
import { type KnownLocation, noteOf, readNote } from '../../../shared/note.ts';
import { roleNameOf } from '../../../shared/profile-names.ts';

/** The EKS cluster is the one for whose profiles the role was created. */
export interface RoleInCluster {
  readonly name: RoleName;
  readonly location: KnownLocation;
}

export interface RoleUsers {
  /** The key of another AWSFargateProfile with the finalizer that uses the role. */
  readonly other: string | undefined;
  /** The keys, by owner tag, of deleted AWSFargateProfiles that use the role as long as EKS has a profile of theirs. */
  readonly leaving: ReadonlyMap<string, string>;
}

/** Reads who else uses a role that is to be deleted for the object. */
export type ReadRoleUsers = (object: AWSFargateProfile, role: RoleInCluster, signal: AbortSignal) => Promise<RoleUsers>;

export interface RoleUserSources {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** The objects of all namespaces and watch filters; `undefined` if the manager caches only a part. */
  readonly profiles?: Pick<TypedStoreReader<AWSFargateProfile>, 'list' | 'version' | 'whenIncludes'> | undefined;
  readonly schema: Pick<ServedSchema, 'isSettled'>;
}

/**
 * How long the cache may lag. While 200 objects were deleted, the median wait was 29 ms; a quarter exceeded 100 ms,
 * because nothing changed and the watch reported no newer resourceVersion.
 */
const MAX_WATCH_LAG: Ms = 200;

/** After so many objects that the manager has not compared before, other work gets its turn. */
const USERS_PER_TURN = 200;

/**
 * The answer is never older than the call: it comes from a list, or from a cache that has caught up with the API server
 * since. Calls that arrive during a read share the next one.
 */
export function newReadRoleUsers(sources: RoleUserSources): ReadRoleUsers {
  const readings = new SingleFlight<readonly RoleUser[]>();
  const readFromCache = newCacheReader(sources);
  return async (object, role, signal) => {
    const all = await readings.runFresh(
      'role users',
      signal,
      async (shared) => (await readFromCache(shared)) ?? listRoleUsers(sources.client, shared),
    );
    const others = all.filter(({ uid }) => uid !== object.metadata.uid);
    const leaving = others.filter(({ mayUse }) => mayUse(role, object) === 'whileItHasProfile');
    return {
      other: others.find(({ mayUse }) => mayUse(role, object) === 'yes')?.key,
      leaving: new Map(leaving.map(({ owner, key }) => [owner, key])),
    };
  };
}

/**
 * A list request for one object returns the resourceVersion that the cache has to reach. `undefined` if the cache is
 * missing, unfilled, late, from before an etcd restore, or filled under another CRD, which may lack fields; and if a
 * list of all objects is one page anyway.
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
    // An older resourceVersion than that of the cache: etcd was restored from a backup.
    if (known === undefined || !isAtLeast(resourceVersion, known)) return undefined;
    try {
      await withDeadline(clock, MAX_WATCH_LAG, signal, 'the watch of AWSFargateProfiles', (waiting) =>
        profiles.whenIncludes(resourceVersion, waiting),
      );
    } catch {
      return undefined;
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

type MayUse = 'yes' | 'no' | 'whileItHasProfile';

/** Only what a comparison of roles needs is kept, because the list may be long. */
interface RoleUser {
  readonly key: string;
  /** The value of the tag on its Fargate profile. */
  readonly owner: string;
  readonly uid: string | undefined;
  /** `deleted` is the object for which the role is to be deleted. */
  readonly mayUse: (role: RoleInCluster, deleted: AWSFargateProfile) => MayUse;
}

async function listRoleUsers(client: KubeClient, signal: AbortSignal): Promise<readonly RoleUser[]> {
  const users: RoleUser[] = [];
  for await (const item of listLiveProfiles(client, {}, signal))
    if (hasFinalizer(item)) users.push(toRoleUser(item, decodeAWSFargateProfile(item)));
  return users;
}

function toRoleUser(item: KubeObject, decoded: Decoded<AWSFargateProfile>): RoleUser {
  const isReadable = isRight(decoded) && readNote(decoded.right).kind !== 'unreadable';
  const mayUse = isReadable ? mayUseByFields(decoded.right) : mayUseByText(item);
  const key = keyOf(item);
  return { key: keyText(key), owner: ownerTagValue(key), uid: item.metadata.uid, mayUse };
}

/** An object that cannot be decoded, or whose note cannot be read, may use each role whose name occurs anywhere in it. */
const mayUseByText =
  (item: KubeObject): RoleUser['mayUse'] =>
  ({ name, location }, deleted) =>
    mentions(item, name) && (isNeighbour(item, deleted) || isRecordedIn(statusOf(item), location)) ? 'yes' : 'no';

const isNeighbour = (one: Pick<KubeObject, 'metadata'>, other: Pick<KubeObject, 'metadata'>): boolean =>
  one.metadata.namespace === other.metadata.namespace;

/**
 * In another namespace only status counts: in spec and annotations another team could name any role and so prevent its
 * deletion for ever. No user is missed, because the trust policy of a managed role admits only profiles of its own EKS
 * cluster, and EKS is asked about these.
 */
const isRecordedIn = (
  { account, region, eksClusterName }: Readonly<Record<string, unknown>>,
  location: KnownLocation,
): boolean => account === location.account && region === location.region && eksClusterName === location.eksCluster;

const statusOf = ({ status }: KubeObject): Readonly<Record<string, unknown>> =>
  typeof status === 'object' ? { ...status } : {};

/**
 * If this object and another are deleted at the same time, the other may already have left the role to this one. So a
 * deleted object uses the role only while EKS has its profile: it decides about the role after that. An object that has
 * never begun makes the role when it begins; if it is deleted before, its manager does not ask AWS. The note of an object
 * counts in its own namespace only, because whoever may write the object writes the note.
 */
function mayUseByFields(object: AWSFargateProfile): RoleUser['mayUse'] {
  const { status = {} } = object;
  const note = noteOf(object);
  const own = [roleNameOf(object), roleNameInArn(object.spec.roleARN), roleNameInArn(status.podExecutionRoleARN)];
  const here = foldedNames([...own, ...note.roles.map(({ name }) => name)]);
  const elsewhere = foldedNames([...own, status.role?.name]);
  const known = note.in.kind === 'known' ? note.in : undefined;
  const account = known?.account ?? parseRoleArn(object.spec.roleARN ?? '')?.account;
  const cluster = clusterIndexOf(object);
  const isAsking = note.profiles.some(({ requestedAt }) => requestedAt !== undefined);
  return ({ name, location }, deleted) => {
    const role = name.toLowerCase();
    if (!isNeighbour(object, deleted))
      return elsewhere.has(role) && isRecordedIn({ ...status }, location) ? 'yes' : 'no';
    if (!here.has(role) || note.in.kind === 'none') return 'no';
    const isThere = known !== undefined && isSameLocation(known, location);
    if (isDeleting(object) && isThere && !isAsking) return 'whileItHasProfile';
    // An object without account uses a role only in the cluster that it names in the same way. Otherwise an object that
    // waits for credentials of another account would keep a role of the same name here forever.
    return (account === undefined ? jsonEqual(cluster, clusterIndexOf(deleted)) : location.account === account)
      ? 'yes'
      : 'no';
  };
}

const foldedNames = (names: readonly (string | undefined)[]): ReadonlySet<string | undefined> =>
  new Set(names.map((name) => name?.toLowerCase()));

const isSameLocation = (one: KnownLocation, other: KnownLocation): boolean =>
  one.account === other.account && one.region === other.region && one.eksCluster === other.eksCluster;

/** Whether the name occurs as a whole string or at the end of an ARN. */
function mentions(object: unknown, role: RoleName): boolean {
  // A loop, because an object that cannot be decoded may be nested too deeply for the stack.
  const unvisited = [object];
  while (unvisited.length > 0) {
    const value = unvisited.pop();
    if (typeof value === 'string' && (roleNameInArn(value) ?? value).toLowerCase() === role.toLowerCase()) return true;
    if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) unvisited.push(each);
  }
  return false;
}

const roleNameInArn = (arn: string | undefined): string | undefined => arn?.slice(arn.lastIndexOf('/') + 1);
