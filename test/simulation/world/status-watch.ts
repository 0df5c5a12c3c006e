import type { StoredEvent } from 'controller-runtime/testing';
import { PLURAL } from '../../../api/v1beta2/index.ts';
import { OWNER_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { CallRecord } from '../../aws/call-log.ts';
import { NAMESPACE } from './cluster.ts';
import { statusOf } from './problems.ts';
import type { SimulatedWorld } from './simulated-world.ts';
import { type AwsSnapshot, StatusChecker, conditionOf } from './status-checker.ts';

const LIFECYCLE = new Set(['CreateFargateProfile', 'DeleteFargateProfile']);

/** Compares each version of every AWSFargateProfile in a simulation with the emulated AWS at that time. */
export class StatusWatch {
  private readonly world: SimulatedWorld;
  /** The checkers by object name. */
  private readonly checkers = new Map<string, StatusChecker>();
  private readonly found = new Set<string>();

  constructor(world: SimulatedWorld) {
    this.world = world;
    world.api.storage.listen((event) => this.onChange(event));
    world.aws.onCall((call, phase) => {
      if (phase === 'before' && LIFECYCLE.has(call.operation)) this.checkNotReady(call);
      for (const [name, checker] of this.checkers) checker.recordAws(this.snapshotFor(name));
    });
  }

  get violations(): readonly string[] {
    const ofObjects = [...this.checkers].flatMap(([name, { violations }]) =>
      violations.map((each) => `${name}: ${each}`),
    );
    return [...this.found, ...ofObjects];
  }

  /** Returns each reason that an object's condition Stalled had while it was True, in alphabetical order. */
  get stalledReasons(): readonly string[] {
    return [...new Set([...this.checkers.values()].flatMap((each) => each.reasonsWhileTrue('Stalled')))].toSorted();
  }

  private onChange({ kind, type, object }: StoredEvent): void {
    if (kind.plural !== PLURAL) return;
    const { name, deletionTimestamp } = object.metadata;
    const isGone = type === 'DELETED';
    // A client that removes the finalizers itself, as clusterctl move does, leaves the resources in AWS.
    if (isGone && deletionTimestamp === undefined) return;
    const checker = this.checkers.get(name) ?? new StatusChecker();
    this.checkers.set(name, checker);
    const { profiles, roles } = this.snapshotFor(name);
    const mayRoleStay = isGone && this.world.objects(PLURAL).length > 0;
    const left = this.world.aws.admin.roles().filter(({ foreign }) => !foreign && !mayRoleStay);
    checker.checkVersion({ type, object }, { profiles, roles: isGone ? left : roles });
  }

  /**
   * Reports a creation or deletion of the profile in an object's status while the object is Ready. An object may be
   * Ready while EKS deletes its predecessor.
   */
  private checkNotReady({ operation, identifiers }: CallRecord): void {
    const profile = identifiers['fargateProfileName'] ?? '';
    for (const object of this.world.objects(PLURAL)) {
      const { profileName } = statusOf(object);
      const isReady = conditionOf(object, 'Ready')?.status === 'True';
      if (isReady && profileName === profile)
        this.found.add(`${operation} of ${profile} was sent while Ready was True`);
    }
  }

  private snapshotFor(name: string): AwsSnapshot {
    const { admin } = this.world.aws;
    const profiles = admin.profiles().filter(({ tags }) => tags[OWNER_TAG] === `${NAMESPACE}/${name}`);
    return { profiles, roles: admin.roles() };
  }
}
