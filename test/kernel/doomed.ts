import type { Ms } from '../../pkg/env/clock.ts';
import type { StoredEvent } from '../../pkg/kube/testing/fake-storage.ts';
import type { CallRecord } from '../aws/call-log.ts';
import type { KubeObject } from '../envtest/api.ts';
import type { Told } from '../teardown/ends.ts';
import { endsOf } from '../teardown/ends.ts';
import type { Party, Seen } from '../teardown/judge.ts';
import { findingsOf } from '../teardown/judge.ts';
import type { AuditEvent } from '../world/audit.ts';
import { CAPA_FINALIZER } from '../world/capa.ts';
import { CAPA_TRUST, EKS_POLICY } from '../world/from-capa.ts';
import { CLUSTER, EKS_CLUSTER, KernelWorld } from './world.ts';

const NAMESPACE = 'default';
const CONTROL_PLANE = `${CLUSTER}-control-plane`;
const CLUSTER_FINALIZER = 'cluster.cluster.x-k8s.io';
const SHARED_ROLE = 'shared-pods';
const FOREIGN_ROLE = 'brought-along';
/** How soon the other controllers see a change. */
const REACTION: Ms = 10;
/** How soon Cluster API Provider AWS tries again what EKS has refused, where nothing wakes it. */
const BACKOFF: Ms = 500;

const nameOf = (object: string): string => `${NAMESPACE}_${object}`;

const PARTY: Party = {
  namespace: NAMESPACE,
  cluster: CLUSTER,
  controlPlane: CONTROL_PLANE,
  profiles: [
    { object: 'first', profile: nameOf('first'), role: SHARED_ROLE, isRoleOurs: true },
    { object: 'second', profile: nameOf('second'), role: SHARED_ROLE, isRoleOurs: true },
    { object: 'own', profile: nameOf('own'), role: `${CLUSTER}-${nameOf('own')}_fargate`, isRoleOurs: true },
    { object: 'foreign', profile: nameOf('foreign'), role: FOREIGN_ROLE, isRoleOurs: false },
  ],
};

/**
 * When the manager is killed, counted from 1 and from the deletion of the Cluster on:
 * - `answer`: its n-th change in AWS or write to the API server has had its effect, and it never hears of that;
 * - `request`: its n-th change never gets to AWS.
 *
 * To be killed after a call that only reads leaves the world as it was left by the effect before.
 */
export interface Death {
  readonly lost: 'answer' | 'request';
  readonly nth: number;
}

/**
 * A cluster with four profiles that is torn down, under a virtual clock, with all that it takes to judge how: two of the
 * profiles share a role, one has a role of its own, one uses somebody else's. Cluster API's core manager and Cluster API
 * Provider AWS are there as far as a teardown needs them.
 */
export class DoomedCluster {
  readonly world = new KernelWorld({ aws: { eks: { createMs: 1_000, deleteMs: 1_500 }, latencyMs: 5 } });
  readonly #audit: AuditEvent[] = [];
  readonly #told: Told[] = [];
  readonly #sights: Seen[] = [];
  readonly #violations = new Set<string>();
  /** How often the manager could have been killed in the one way and in the other. */
  readonly deaths = { answer: 0, request: 0 };
  readonly #death: Death | undefined;
  #isBegun = false;
  #isWatching = false;

  constructor(death?: Death) {
    this.#death = death;
    const { admin } = this.world.aws;
    const { arn } = admin.putRole({
      name: FOREIGN_ROLE,
      trustPolicy: CAPA_TRUST,
      attachedPolicies: [EKS_POLICY],
    });
    this.#patch('clusters', CLUSTER, { metadata: { finalizers: [CLUSTER_FINALIZER] } });
    this.#patch('awsmanagedcontrolplanes', CONTROL_PLANE, { metadata: { finalizers: [CAPA_FINALIZER] } });
    this.world.api.storage.listen((event) => this.#changed(event));
    this.world.aws.onCall((call, phase) => this.#called(call, phase));
    for (const name of ['first', 'second']) this.world.applyWith(name, { roleName: SHARED_ROLE });
    this.world.applyWith('own', {
      roleAdditionalPolicies: ['arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy'],
    });
    this.world.applyWith('foreign', { roleARN: arn });
  }

  async ready(): Promise<void> {
    await this.world.ready(...PARTY.profiles.map(({ object }) => object));
  }

  /** Deletes the Cluster, and waits until all is gone. Resolves with how long that took. */
  async gone(): Promise<Ms> {
    const { world } = this;
    const since = world.elapsed;
    this.#isBegun = true;
    world.onEffect = () => this.#mayDie('answer');
    world.api.storage.delete(world.api.kind('clusters'), { namespace: NAMESPACE, name: CLUSTER });
    await world.until('the Cluster gone', () => world.objects('clusters').length === 0);
    await world.gone(...PARTY.profiles.map(({ object }) => object));
    return world.elapsed - since;
  }

  /** What was not as it has to be, at any moment. */
  findings(): readonly string[] {
    const ends = endsOf({ name: CLUSTER, namespace: NAMESPACE }, this.#told);
    return [...this.#violations, ...findingsOf(PARTY, { audit: this.#audit, sights: this.#sights, ends })];
  }

  /** Whether the manager was killed; then another one has begun. */
  #mayDie(lost: Death['lost']): boolean {
    this.deaths[lost] += 1;
    if (this.#death?.lost !== lost || this.#death.nth !== this.deaths[lost]) return false;
    this.world.managers.at(-1)?.kill();
    this.world.start();
    return true;
  }

  #called(call: CallRecord, phase: 'before' | 'after'): 'lost' | undefined {
    this.#look();
    if (!this.#isBegun) return undefined;
    if (phase === 'after' || !call.mutates) return undefined;
    if (this.#mayDie('request')) return 'lost';
    this.#expectNoHarm(call);
    return undefined;
  }

  /** A role goes after the profiles that use it, a policy of it too; and nothing of others is changed. */
  #expectNoHarm({ operation, nouns }: CallRecord): void {
    const { RoleName: role, fargateProfileName: profile } = nouns;
    const users = this.world.aws.admin.profiles().filter(({ podExecutionRoleArn: arn }) => arn.endsWith(`/${role}`));
    for (const { name } of users) this.#violations.add(`${operation} of ${role} under profile ${name}`);
    const isOurs = PARTY.profiles.some((each) => each.profile === profile || (each.isRoleOurs && each.role === role));
    if (!isOurs) this.#violations.add(`${operation} of ${role ?? profile}, which is somebody else's`);
  }

  #look(): void {
    const { admin } = this.world.aws;
    this.#sights.push({
      at: this.world.clock.now(),
      profiles: new Map(admin.profiles().map((profile) => [profile.name, profile])),
      roles: new Map(admin.roles().map((role) => [role.name, role])),
    });
  }

  #changed({ type, kind, object: stored }: StoredEvent): void {
    const { namespace, name } = stored.metadata;
    const at = this.world.clock.now();
    const object = stored as unknown as KubeObject;
    this.#audit.push({
      verb: type,
      userAgent: '',
      objectRef: { resource: kind.plural, ...(namespace !== undefined && { namespace }), name },
      at,
      object,
    });
    this.#told.push({ resource: kind.plural, at, type, object });
    if (kind.plural === 'clusters' || kind.plural === 'awsmanagedcontrolplanes') this.#wakeOthers(REACTION);
  }

  /** Cluster API and its AWS provider look after a while at what has changed. */
  #wakeOthers(after: Ms): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.world.clock.after(after, () => {
      this.#isWatching = false;
      this.#goOn();
    });
  }

  #goOn(): void {
    const { storage } = this.world.api;
    const [cluster] = this.world.objects('clusters');
    const [controlPlane] = this.world.objects('awsmanagedcontrolplanes');
    if (controlPlane?.metadata.deletionTimestamp !== undefined)
      this.#deleteEksCluster(controlPlane.metadata.finalizers);
    if (cluster?.metadata.deletionTimestamp === undefined) return;
    if (controlPlane === undefined) this.#patch('clusters', CLUSTER, { metadata: { finalizers: null } });
    else if (controlPlane.metadata.deletionTimestamp === undefined) {
      storage.delete(this.world.api.kind('awsmanagedcontrolplanes'), { namespace: NAMESPACE, name: CONTROL_PLANE });
    }
  }

  /** EKS refuses while there are profiles. */
  #deleteEksCluster(finalizers: readonly string[] = []): void {
    if (!finalizers.includes(CAPA_FINALIZER)) return;
    const { admin } = this.world.aws;
    if (admin.profiles().some(({ cluster }) => cluster === EKS_CLUSTER)) {
      this.#wakeOthers(BACKOFF);
      return;
    }
    admin.removeCluster({ name: EKS_CLUSTER });
    const left = finalizers.filter((each) => each !== CAPA_FINALIZER);
    this.#patch('awsmanagedcontrolplanes', CONTROL_PLANE, { metadata: { finalizers: left } });
  }

  #patch(plural: string, name: string, patch: object): void {
    this.world.api.storage.mergePatch(this.world.api.kind(plural), { namespace: NAMESPACE, name }, patch);
  }
}
