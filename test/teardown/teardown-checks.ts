import type { RawObject } from '../envtest/clients/api.ts';
import type { AwsSnapshot } from '../grid/status-checker.ts';
import type { AuditEvent } from '../world/cluster-api/audit.ts';
import type { Removals } from './removals.ts';
import { DeletionChecker } from './deletion-checker.ts';

/** The Fargate profiles and IAM roles of an AWS account at one moment, by name. */
export interface AccountSnapshot {
  /** When the snapshot was taken, in milliseconds since the epoch. */
  readonly at: number;
  /** The Fargate profiles of the EKS cluster that is torn down, by name. */
  readonly profiles: ReadonlyMap<string, AwsSnapshot['profiles'][number]>;
  readonly roles: ReadonlyMap<string, AwsSnapshot['roles'][number]>;
}

/** One AWSFargateProfile and the names of its AWS resources. */
export interface ProfileResources {
  readonly object: string;
  readonly profile: string;
  readonly role: string;
  /**
   * Whether the manager owns the IAM role, and so must delete it together with the last AWSFargateProfile that uses it.
   */
  readonly isRoleOurs: boolean;
}

/** The names of a Cluster, its control plane and its AWSFargateProfiles, which are all in one namespace. */
export interface TeardownObjects {
  readonly namespace: string;
  readonly cluster: string;
  readonly controlPlane: string;
  readonly profiles: readonly ProfileResources[];
}

/** The data that the test recorded during one teardown. */
export interface TeardownRecord {
  /** The audit log of the API server. It also contains requests for objects of other namespaces. */
  readonly audit: readonly AuditEvent[];
  readonly snapshots: readonly AccountSnapshot[];
  readonly removals: Removals;
}

/**
 * Replays a teardown from the audit log and the AWS snapshots. Returns the violations: each status that contradicts
 * AWS, and each object that was deleted too early.
 */
export function findTeardownViolations(
  objects: TeardownObjects,
  { audit, snapshots, removals }: TeardownRecord,
): readonly string[] {
  const replay = new Replay(objects);
  const recorded = audit.filter(({ objectRef }) => objectRef.namespace === objects.namespace);
  const timeline = [
    ...snapshots.map((snapshot) => ({ at: snapshot.at, replayStep: () => replay.recordAws(snapshot) })),
    ...recorded.map((event) => ({ at: event.at, replayStep: () => replay.checkEvent(event) })),
    ...findUnrecordedRemovals(objects, recorded, removals).map(({ name, at }) => ({
      at,
      replayStep: () => replay.checkUnrecordedRemoval(name),
    })),
  ];
  // The times of the snapshots are whole milliseconds. A snapshot is replayed before the API server requests of the
  // same millisecond.
  for (const { replayStep } of timeline.toSorted((a, b) => Math.floor(a.at) - Math.floor(b.at) || a.at - b.at))
    replayStep();
  return [...findOrderViolations(objects, removals), ...replay.violations()];
}

/**
 * Finds the deletions of AWSFargateProfiles that the audit log lacks, because the client that made the deletion was
 * killed before the API server answered. The test knows of these deletions from its watch.
 */
function findUnrecordedRemovals(
  { profiles }: TeardownObjects,
  audit: readonly AuditEvent[],
  removals: Removals,
): readonly { readonly name: string; readonly at: number }[] {
  const recorded = new Set(
    audit
      .filter(({ objectRef, object }) => objectRef.resource === 'awsfargateprofiles' && isGone(object))
      .map(({ objectRef: { name } }) => name),
  );
  return profiles.flatMap(({ object: name }) => {
    const end = removals.profiles.get(name);
    return end === undefined || recorded.has(name) ? [] : [{ name, at: end.at }];
  });
}

/**
 * Returns a violation for each AWSFargateProfile that still exists. Also returns a violation for each AWSFargateProfile
 * that was removed after the Cluster, or after the manager's finalizer on the control plane.
 */
function findOrderViolations({ profiles }: TeardownObjects, removals: Removals): readonly string[] {
  return profiles.flatMap(({ object }) => {
    const end = removals.profiles.get(object)?.version ?? Infinity;
    return [
      ...(end === Infinity ? [`the object ${object} still exists`] : []),
      ...(removals.finalizer !== undefined && removals.finalizer.version < end
        ? [`the control plane finalizer was removed before the object ${object}`]
        : []),
      ...(removals.cluster !== undefined && removals.cluster.version < end
        ? [`the Cluster was deleted before the object ${object}`]
        : []),
    ];
  });
}

class Replay {
  readonly #objects: TeardownObjects;
  readonly #checkers: ReadonlyMap<string, DeletionChecker>;
  readonly #violations: string[] = [];
  #snapshot: AccountSnapshot = { at: 0, profiles: new Map(), roles: new Map() };

  constructor(objects: TeardownObjects) {
    this.#objects = objects;
    this.#checkers = new Map(objects.profiles.map(({ object, profile }) => [object, new DeletionChecker(profile)]));
  }

  violations(): readonly string[] {
    const ofObjects = [...this.#checkers].flatMap(([name, { violations }]) =>
      violations.map((each) => `${name}: ${each}`),
    );
    return [...this.#violations, ...ofObjects];
  }

  recordAws(snapshot: AccountSnapshot): void {
    this.#snapshot = snapshot;
    const statuses = new Map([...snapshot.profiles].map(([name, { status }]) => [name, status]));
    for (const each of this.#objects.profiles) {
      this.#checkers.get(each.object)?.recordAws(statuses, this.#snapshotOf(each));
    }
  }

  checkEvent({ objectRef: { resource, name }, object }: AuditEvent): void {
    const { cluster, profiles } = this.#objects;
    if (resource === 'clusters' && name === cluster && isGone(object)) this.#clusterGone();
    const resources = resource === 'awsfargateprofiles' && profiles.find((each) => each.object === name);
    if (resources) this.#profile(resources, object);
  }

  /** Checks an AWSFargateProfile whose deletion the audit log does not contain. */
  checkUnrecordedRemoval(name: string): void {
    const resources = this.#objects.profiles.find(({ object }) => object === name);
    if (resources !== undefined) this.#profile(resources, undefined);
  }

  #profile(resources: ProfileResources, object: RawObject | undefined): void {
    const checker = this.#checkers.get(resources.object);
    const last = object ?? checker?.latest;
    if (checker === undefined || last === undefined) return;
    if (isGone(object)) checker.checkVersion({ type: 'DELETED', object: last }, this.#mustBeGone(resources));
    else checker.checkVersion({ type: 'MODIFIED', object: last }, this.#snapshotOf(resources));
  }

  #clusterGone(): void {
    const { profiles, roles } = this.#snapshot;
    const ours = this.#objects.profiles.filter(({ isRoleOurs }) => isRoleOurs).map(({ role }) => role);
    const left = [...profiles.keys(), ...ours.filter((role) => roles.has(role))];
    for (const each of new Set(left)) this.#violations.push(`the Cluster was deleted before ${each} in AWS`);
  }

  #snapshotOf({ profile: profileName, role: roleName }: ProfileResources): AwsSnapshot {
    const [profile, role] = [this.#snapshot.profiles.get(profileName), this.#snapshot.roles.get(roleName)];
    return { profiles: profile === undefined ? [] : [profile], roles: role === undefined ? [] : [role] };
  }

  #mustBeGone(resources: ProfileResources): AwsSnapshot {
    const { profiles, roles } = this.#snapshotOf(resources);
    const isShared = this.#objects.profiles.some(
      (other) =>
        other !== resources && other.role === resources.role && this.#checkers.get(other.object)?.latest !== undefined,
    );
    return { profiles, roles: resources.isRoleOurs && !isShared ? roles : [] };
  }
}

/** Whether an object is gone: the object is undefined, or it is being deleted and has no finalizers. */
const isGone = (object: RawObject | undefined): boolean =>
  object === undefined ||
  (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0);
