import type { KubeObject } from 'controller-runtime/client';
import type { StoredEvent } from 'controller-runtime/testing';
import { PLURAL } from '../../../api/v1beta2/index.ts';
import { CONTROL_PLANE_FINALIZER } from '../../world/cluster-api/cluster-teardown.ts';
import { type AwsSnapshot, StatusChecker, conditionOf } from '../world/status-checker.ts';

/** One AWSFargateProfile and the names of its AWS resources. */
export interface ProfileResources {
  readonly object: string;
  readonly profile: string;
  readonly role: string;
  /** Whether the manager must delete the IAM role together with the last AWSFargateProfile that uses it. */
  readonly isRoleOurs: boolean;
}

/** The Fargate profiles of the EKS cluster and the IAM roles of its account at one moment, by name. */
export interface AccountSnapshot {
  readonly profiles: ReadonlyMap<string, AwsSnapshot['profiles'][number]>;
  readonly roles: ReadonlyMap<string, AwsSnapshot['roles'][number]>;
}

/**
 * Finds the name and the state of a Fargate profile in a message such as `EKS changes only one Fargate profile of a
 * cluster at a time, and Fargate profile "x" is being deleted.`
 */
const PROFILE_AHEAD = /, and Fargate profile "(.+)" is ([^.]+)\./;
/** The EKS status for the words in such a message. If the message has other words, the profile may have any status. */
const STATUS_OF: Readonly<Record<string, string>> = { 'being created': 'CREATING', 'being deleted': 'DELETING' };
/** The allowed reasons of the condition Deleting in a test that only kills the manager or lets AWS calls fail. */
const ALLOWED_REASONS: readonly string[] = ['DeletingProfile', 'WaitingForSibling', 'AWSUnavailable'];

/** Collects each status that contradicts AWS, and each object that is gone too early, in the teardown of a cluster. */
export class TeardownChecks {
  private readonly resources: readonly ProfileResources[];
  private readonly checkers: ReadonlyMap<string, StatusChecker>;
  private readonly found = new Set<string>();
  private readonly snapshots: AccountSnapshot[] = [];
  /** How many snapshots there were when each object got its newest version, by the name of the object. */
  private readonly seen = new Map<string, number>();

  constructor(resources: readonly ProfileResources[]) {
    this.resources = resources;
    this.checkers = new Map(resources.map(({ object }) => [object, new StatusChecker()]));
  }

  get violations(): readonly string[] {
    const ofObjects = [...this.checkers].flatMap(([name, { violations }]) =>
      violations.map((each) => `${name}: ${each}`),
    );
    return [...this.found, ...ofObjects];
  }

  /** Records a state of AWS. The caller must call this whenever AWS may have changed. */
  recordAws(snapshot: AccountSnapshot): void {
    this.snapshots.push(snapshot);
    for (const each of this.resources) this.checkers.get(each.object)?.recordAws(ofObject(each, snapshot));
  }

  /** Checks a change of an object; `now` is the state of AWS at this moment. */
  checkEvent(event: StoredEvent, now: AccountSnapshot): void {
    const { kind, type, object, previous } = event;
    this.recordAws(now);
    const resources = this.resources.find((each) => each.object === object.metadata.name);
    if (kind.plural === PLURAL && resources !== undefined) this.checkProfile(event, resources, now);
    const has = (each: KubeObject | undefined): boolean =>
      each?.metadata.finalizers?.includes(CONTROL_PLANE_FINALIZER) === true;
    if (kind.plural === 'awsmanagedcontrolplanes' && has(previous) && (type === 'DELETED' || !has(object)))
      this.expectObjectsGone('the control plane finalizer was removed');
    if (kind.plural !== 'clusters' || type !== 'DELETED') return;
    this.expectObjectsGone('the Cluster was deleted');
    const ours = this.resources.filter(({ isRoleOurs }) => isRoleOurs).map(({ role }) => role);
    for (const left of [...now.profiles.keys(), ...ours.filter((role) => now.roles.has(role))])
      this.found.add(`the Cluster was deleted before ${left} in AWS`);
  }

  private expectObjectsGone(what: string): void {
    for (const [name, { latest }] of this.checkers)
      if (latest !== undefined) this.found.add(`${what} before the object ${name}`);
  }

  private checkProfile({ type, object }: StoredEvent, resources: ProfileResources, now: AccountSnapshot): void {
    const checker = this.checkers.get(resources.object);
    const before = checker?.latest;
    const { profiles, roles } = ofObject(resources, now);
    const isShared = this.resources.some(
      (other) =>
        other !== resources && other.role === resources.role && this.checkers.get(other.object)?.latest !== undefined,
    );
    const mayStay = type === 'DELETED' && (isShared || !resources.isRoleOurs);
    checker?.checkVersion({ type, object }, { profiles, roles: mayStay ? [] : roles });
    if (type !== 'DELETED' && JSON.stringify(object['status']) !== JSON.stringify(before?.['status']))
      for (const wrong of this.errorsIn(object, resources)) this.found.add(`${resources.object}: ${wrong}`);
    this.seen.set(resources.object, this.snapshots.length - 1);
  }

  /**
   * The errors in the conditions of an object that is being deleted. What they say about its own profile must have been
   * true since the previous version of the object. The manager knows other profiles from its latest poll, so what the
   * conditions say about them must have been true at any time.
   */
  private errorsIn(object: KubeObject, { object: name, profile }: ProfileResources): readonly string[] {
    const deleting = conditionOf(object, 'Deleting');
    const { generation, deletionTimestamp } = object.metadata;
    // A deletion increments the generation, so an older observedGeneration is that of a condition before the deletion.
    if (deleting === undefined || deleting.observedGeneration !== generation) return [];
    const isDeleting = deletionTimestamp !== undefined;
    if (deleting.status !== (isDeleting ? 'True' : 'False'))
      return [`Deleting is ${deleting.status}, but the object is ${isDeleting ? '' : 'not '}being deleted`];
    if (!isDeleting) return [];
    const { reason = '', message = '' } = deleting;
    const was = (snapshots: readonly AccountSnapshot[], each: string, status?: string): boolean =>
      snapshots.some(({ profiles }) => {
        const found = profiles.get(each);
        return found !== undefined && (status === undefined || found.status === status);
      });
    const [, ahead = '', doing = ''] = PROFILE_AHEAD.exec(message) ?? [];
    const since = this.snapshots.slice(this.seen.get(name) ?? 0);
    const isWrongly = (type: string, status: string): readonly string[] =>
      conditionOf(object, type)?.status === status ? [`${type} is ${status} during a deletion`] : [];
    return [
      ...isWrongly('Ready', 'True'),
      ...isWrongly('Stalled', 'True'),
      ...isWrongly('Reconciling', 'False'),
      ...(ALLOWED_REASONS.includes(reason) ? [] : [`the deletion waits for ${reason}: ${message}`]),
      ...(reason === 'DeletingProfile' && !was(since, profile) ? ['its profile was already deleted'] : []),
      ...(reason === 'WaitingForSibling' && !was(this.snapshots, ahead, STATUS_OF[doing])
        ? [`no such profile is ahead: ${message}`]
        : []),
    ];
  }
}

function ofObject({ profile: profileName, role: roleName }: ProfileResources, snapshot: AccountSnapshot): AwsSnapshot {
  const [profile, role] = [snapshot.profiles.get(profileName), snapshot.roles.get(roleName)];
  return { profiles: profile === undefined ? [] : [profile], roles: role === undefined ? [] : [role] };
}
