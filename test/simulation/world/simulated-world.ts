import { expect } from 'chai';
import { sleep } from 'controller-runtime/async';
import type { KubeObject, ObjectKey } from 'controller-runtime/client';
import { formatMilliTime, type Ms } from 'controller-runtime/env';
import { FakeApiServer, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import { type Condition, PLURAL } from '../../../api/v1beta2/index.ts';
import type { AwsCredentialSource, Endpoints } from '../../../pkg/cloud/index.ts';
import { AWS_ENDPOINTS } from '../../../pkg/cloud/testing/endpoints.ts';
import { Emulator } from '../../aws/emulator.ts';
import { expectNothingLeft } from '../../aws/admin/expect-nothing-left.ts';
import type { ProfileView, RoleView } from '../../aws/admin/views.ts';
import type { CallRecord } from '../../aws/call-log.ts';
import type { ConfigPatch } from '../../aws/model/config.ts';
import { seededEnv } from '../../aws/model/env.ts';
import { EmulatorRequestHandler } from '../../aws/transport/request-handler.ts';
import {
  findActionsAfterExit,
  conditionsOf,
  describeWorld,
  findPanics,
  findProblems,
  listWarnings,
} from './problems.ts';
import { KINDS } from './kinds.ts';
import {
  ACCOUNT,
  CLUSTER,
  CONTROL_PLANE_REF,
  EKS_CLUSTER,
  MINUTE,
  NAMESPACE,
  SECOND,
  createCluster,
} from './cluster.ts';
import { isRecorded } from './write-ahead.ts';
import { SimulatedManager } from './simulated-manager.ts';
import { SimulatedWorkload } from './simulated-workload.ts';
import { type KubeWrite, recordWrites, formatTrace } from './trace.ts';

/** Realistic durations of creations and deletions of Fargate profiles, as ranges for random values. */
export const REAL_EKS = {
  createMs: [60 * SECOND, 120 * SECOND],
  deleteMs: [30 * SECOND, 90 * SECOND],
} as const;

/**
 * The default configuration of the AWS emulator in a simulation. EKS takes a tenth of the time in {@link REAL_EKS},
 * because longer times only add polls that do nothing new. AWS calls take as long as for a client in the same region.
 */
const AWS: ConfigPatch = {
  eks: { createMs: [6 * SECOND, 12 * SECOND], deleteMs: [3 * SECOND, 9 * SECOND] },
  latencyMs: [20, 200],
};

export interface SimulationOptions {
  /** The seed of all random numbers in the simulation, including those of the managers. */
  readonly seed?: number;
  readonly aws?: ConfigPatch;
  /** The delay before the fake API server processes a request; default: 5 ms. */
  readonly latency?: Ms;
  /** The delay from a write to the fake API server until its watch event; default: 5 ms. */
  readonly watchLag?: Ms;
  /**
   * Another simulation, whose clock and AWS this one shares: a second management cluster, which has the same Cluster.
   * The test finishes the other simulation last.
   */
  readonly shareAwsWith?: SimulatedWorld;
}

/**
 * A simulation runs the fake API server, the AWS emulator and any number of managers in this process, on one virtual
 * clock. It starts with one Cluster, which has a control plane and an EKS cluster. The same seed and the same actions
 * of the test give the same run.
 */
export class SimulatedWorld {
  readonly clock: VirtualClock;
  readonly api: FakeApiServer;
  readonly aws: Emulator;
  readonly workload: SimulatedWorkload;
  /** The write requests that all managers have sent to the API server, in order. */
  readonly writes: KubeWrite[] = [];
  readonly managers: SimulatedManager[] = [];
  /**
   * Called just before a manager gets the answer to a call that changed AWS, or to a write request to the API server.
   */
  onChange: (change: CallRecord | KubeWrite) => void = () => {};
  /** The AWS endpoints of the managers that the test starts from now on. */
  endpoints: Endpoints = AWS_ENDPOINTS;
  /** The AWS region of the managers that the test starts from now on; undefined: they do not know their region. */
  awsRegion: string | undefined;
  /**
   * The source of the AWS credentials of the managers that the test starts from now on; undefined: each manager has an
   * access key.
   */
  credentials: AwsCredentialSource | undefined;
  /** The random numbers of the test. They do not depend on the managers, which have generators of their own. */
  readonly random: SeededRandom;
  /**
   * The calls of CreateRole and CreateFargateProfile that a manager sent too early, that is, before {@link isRecorded}
   * was true for the call. After a crash, a new manager could not find the resource that such a call has created.
   */
  private readonly violations: string[] = [];
  private readonly seed: number;
  private readonly isSharing: boolean;
  /** The simulations that share AWS with this one. */
  private readonly sharers: SimulatedWorld[] = [];
  /** The wall-clock time at the start of the simulation, in milliseconds since the epoch. */
  readonly startedAt: Ms;

  constructor({ shareAwsWith: other, ...options }: SimulationOptions = {}) {
    const { seed = other === undefined ? 1 : other.seed + 100, aws = {}, latency = 5, watchLag = 5 } = options;
    const clock = other?.clock ?? new VirtualClock();
    this.clock = clock;
    this.workload = new SimulatedWorkload(clock);
    this.isSharing = other !== undefined;
    other?.sharers.push(this);
    this.seed = seed;
    this.startedAt = clock.now();
    this.random = new SeededRandom(seed);
    this.api = new FakeApiServer({ clock, random: new SeededRandom(seed + 1), kinds: KINDS });
    this.api.latency = latency;
    this.api.watchLag = watchLag;
    const never = new AbortController().signal;
    this.aws =
      other?.aws ??
      new Emulator({
        clock: { now: () => clock.now(), sleep: (ms) => sleep(clock, ms, never) },
        env: seededEnv(seed),
        config: { ...AWS, ...aws, eks: { ...AWS.eks, ...aws.eks } },
      });
    this.aws.onCall((call, phase) => {
      if (phase === 'before' && !this.isSharing && !isRecorded(call, this.recordedObjects()))
        this.violations.push(`${call.operation} ${JSON.stringify(call.identifiers)}`);
      if (phase === 'after' && call.applied) this.onChange(call);
    });
    createCluster(
      this,
      other?.aws.admin.clusters().find(({ name }) => name === EKS_CLUSTER),
    );
  }

  private recordedObjects(): readonly KubeObject[] {
    return [this, ...this.sharers].flatMap((world) => world.objects(PLURAL));
  }

  private keyOf(plural: string, name: string): ObjectKey {
    return { namespace: this.api.kind(plural).namespaced === false ? '' : NAMESPACE, name };
  }

  /** Creates an object without a status, as a client other than the manager. */
  create(plural: string, object: Readonly<Record<string, unknown>>): void {
    this.api.storage.create(this.api.kind(plural), this.keyOf(plural, '').namespace, object);
  }

  /** Applies a JSON merge patch to an object or its status, as a client other than the manager. */
  patch(plural: string, name: string, change: object, subresource?: 'status'): void {
    this.api.storage.mergePatch(this.api.kind(plural), this.keyOf(plural, name), change, subresource);
  }

  /**
   * Makes a change that the manager's watches show only after the given time. Later changes of objects of other kinds
   * show immediately.
   */
  changeUnseen(lag: Ms, change: () => void): void {
    const { watchLag } = this.api;
    this.api.watchLag = lag;
    change();
    this.api.watchLag = watchLag;
  }

  /**
   * Deletes an object, as a client other than the manager. An object with finalizers stays until the finalizers are
   * removed.
   */
  remove(plural: string, name: string): void {
    this.api.storage.delete(this.api.kind(plural), this.keyOf(plural, name));
  }

  object(plural: string, name: string): KubeObject | undefined {
    return this.api.storage.get(this.api.kind(plural), this.keyOf(plural, name));
  }

  start(...flags: readonly string[]): SimulatedManager {
    return this.startSkewed(0, ...flags);
  }

  /**
   * Starts a manager whose wall clock is ahead of the virtual clock by the given time; a negative time means behind.
   */
  startSkewed(skew: Ms, ...flags: readonly string[]): SimulatedManager {
    const { clock } = this;
    const name = `${this.isSharing ? 'other-' : ''}manager-${this.managers.length + 1}`;
    const { accessKeyId } = this.aws.admin.registerKey({ account: ACCOUNT, accessKeyId: name });
    const manager = new SimulatedManager({
      name,
      endpoints: this.endpoints,
      seed: this.seed * 1_000 + this.managers.length,
      clock,
      kube: recordWrites(this.api, {
        from: name,
        clock,
        writes: this.writes,
        onAnswer: (write) => this.onChange(write),
      }),
      connectToServer: (access) => this.workload.connect(access),
      aws: new EmulatorRequestHandler(this.aws, { isDated: skew !== 0 }),
      accessKeyId,
      flags,
      awsRegion: this.awsRegion,
      ...(this.credentials !== undefined && { credentials: this.credentials }),
      skew,
    });
    this.managers.push(manager);
    return manager;
  }

  async startWithReady(...names: readonly string[]): Promise<SimulatedManager> {
    const manager = this.start();
    this.apply(...names);
    await this.ready(...names);
    return manager;
  }

  async startWithReadyObject(name: string, spec: object): Promise<SimulatedManager> {
    const manager = this.start();
    this.applyWith(name, spec);
    await this.ready(name);
    return manager;
  }

  /** Stops a manager, waits until its process has ended, and expects that it has left no running timer. */
  async stop(manager: SimulatedManager): Promise<void> {
    manager.stop();
    await this.until(`${manager.name} has stopped`, () => manager.ended !== undefined, MINUTE);
    expect(manager.timers, `timers that ${manager.name} left behind`).to.deep.equal([]);
  }

  /** Stops each manager that still runs, as {@link stop} does. */
  async stopAll(): Promise<void> {
    for (const manager of this.managers) if (manager.ended === undefined) await this.stop(manager);
  }

  apply(...names: readonly string[]): void {
    for (const name of names) this.applyWith(name, {});
  }

  applyWith(name: string, spec: object): void {
    this.create(PLURAL, {
      metadata: { name },
      spec: { clusterName: CLUSTER, selectors: [{ namespace: name }], ...spec },
    });
  }

  /** Changes an annotation of an AWSFargateProfile, so that the manager reconciles it. */
  triggerReconcile(name: string): void {
    this.patch(PLURAL, name, { metadata: { annotations: { look: formatMilliTime(this.clock.now()) } } });
  }

  /** Changes status.ready of the control plane, as Cluster API Provider AWS does. */
  setControlPlaneReady(ready: boolean): void {
    this.patch('awsmanagedcontrolplanes', CONTROL_PLANE_REF.name, { status: { ready } }, 'status');
  }

  get controlPlaneFinalizers(): readonly string[] {
    return this.object('awsmanagedcontrolplanes', CONTROL_PLANE_REF.name)?.metadata.finalizers ?? [];
  }

  delete(...names: readonly string[]): void {
    for (const name of names) this.remove(PLURAL, name);
  }

  objects(plural: string): readonly KubeObject[] {
    return this.api.storage.list(this.api.kind(plural));
  }

  profile(name: string): KubeObject | undefined {
    return this.object(PLURAL, name);
  }

  condition(name: string, type = 'Ready'): Condition | undefined {
    return conditionsOf(this.profile(name)).find((condition) => condition.type === type);
  }

  isReady(name: string): boolean {
    return this.condition(name)?.status === 'True';
  }

  /**
   * Returns a list to which each later change of the status of an AWSFargateProfile's condition Ready adds the new
   * status and the time on the virtual clock.
   */
  readyChanges(name: string): readonly { readonly at: Ms; readonly status: string }[] {
    const changes: { at: Ms; status: string }[] = [];
    const { uid } = this.profile(name)?.metadata ?? {};
    this.api.storage.listen(({ object, previous }) => {
      const readyOf = (one: KubeObject | undefined): string =>
        conditionsOf(one).find(({ type }) => type === 'Ready')?.status ?? '';
      if (object.metadata.uid !== uid || readyOf(object) === readyOf(previous)) return;
      changes.push({ at: this.clock.now(), status: readyOf(object) });
    });
    return changes;
  }

  /** The virtual time since the start of the simulation, in milliseconds. */
  get elapsed(): Ms {
    return this.clock.monotonic();
  }

  /**
   * Advances the virtual clock until the given function returns true. The error after a timeout shows the objects in
   * the API server and the newest log lines.
   */
  async until(what: string, holds: () => boolean, limitMs: Ms = 10 * MINUTE): Promise<void> {
    try {
      await this.clock.runUntil(holds, { limitMs });
    } catch (error) {
      throw new Error(`${what}: not within ${limitMs / SECOND} s\n${describeWorld(this)}`, { cause: error });
    }
  }

  ready(...names: readonly string[]): Promise<void> {
    return this.until(`${names.join(', ')} Ready`, () => names.every((name) => this.isReady(name)), 60 * MINUTE);
  }

  gone(...names: readonly string[]): Promise<void> {
    const isGone = (name: string): boolean => this.profile(name) === undefined;
    return this.until(`${names.join(', ')} gone`, () => names.every(isGone), 60 * MINUTE);
  }

  /** Waits until a condition of an AWSFargateProfile has the given reason, and returns the message of the condition. */
  async reason(name: string, reason: string, type = 'Ready'): Promise<string> {
    await this.until(`${name} ${type} ${reason}`, () => this.condition(name, type)?.reason === reason, 60 * MINUTE);
    return this.condition(name, type)?.message ?? '';
  }

  /** The Fargate profile of an AWSFargateProfile, or the one with the given name in EKS. */
  eksProfile(object: string, name = `${NAMESPACE}_${object}`): ProfileView | undefined {
    return this.aws.admin.profiles().find((profile) => profile.name === name);
  }

  /** The pod execution role of an AWSFargateProfile, or the one with the given name in IAM. */
  role(object: string, name = `${CLUSTER}-${NAMESPACE}_${object}_fargate`): RoleView | undefined {
    return this.aws.admin.roles().find((role) => role.name === name);
  }

  /** The names of the operations of {@link mutations}, without the first `from` ones. */
  operations(from = 0): readonly string[] {
    return this.mutations()
      .slice(from)
      .map(({ operation }) => operation);
  }

  /**
   * The AWS calls that create or delete Fargate profiles, without the first `from` {@link mutations}. Each is a text
   * such as `Create default_a`, or `Create default_a <error code>` if EKS refused the call.
   */
  eksChanges(from = 0): readonly string[] {
    return this.mutations()
      .slice(from)
      .filter(({ operation }) => operation.endsWith('FargateProfile'))
      .map(({ operation, identifiers, errorCode }) =>
        [operation.replace('FargateProfile', ''), identifiers['fargateProfileName'], errorCode]
          .filter(Boolean)
          .join(' '),
      );
  }

  /** The AWS calls of operations that change AWS, including calls that AWS refused. */
  mutations(): readonly CallRecord[] {
    return this.aws.admin.calls({ mutates: true });
  }

  /**
   * The AWS calls that change the Fargate profile, the IAM role or the access entry of one AWSFargateProfile, including
   * calls that AWS refused.
   */
  mutationsFor(name: string): readonly CallRecord[] {
    const isAbout = ({ identifiers }: CallRecord): boolean =>
      identifiers['fargateProfileName'] === `${NAMESPACE}_${name}` ||
      identifiers['RoleName'] === `${CLUSTER}-${NAMESPACE}_${name}_fargate` ||
      identifiers['principalArn']?.endsWith(`/${CLUSTER}-${NAMESPACE}_${name}_fargate`) === true;
    return this.mutations().filter(isAbout);
  }

  /** The reasons of all Events. */
  get eventReasons(): readonly unknown[] {
    return this.objects('events').map(({ reason }) => reason);
  }

  /** The messages of the Events with the given reason. */
  eventMessages(reason: string): readonly string[] {
    return this.objects('events').flatMap((event) => (event['reason'] === reason ? String(event['message']) : []));
  }

  warnings(): readonly string[] {
    return listWarnings(this);
  }

  /**
   * Everything in this simulation that must not occur in a simulation without faults, e.g. failed AWS calls and Events
   * of type Warning.
   */
  problems(): readonly string[] {
    return findProblems(this);
  }

  /**
   * Waits until no control plane has a finalizer, and then stops the managers. Expects that no AWSFargateProfile and no
   * AWS resource of a manager still exists.
   */
  async finish(): Promise<void> {
    const controlPlanes = (): readonly KubeObject[] => this.objects('awsmanagedcontrolplanes');
    const isFree = ({ metadata }: KubeObject): boolean => (metadata.finalizers ?? []).length === 0;
    await this.until('the removal of the control plane finalizers', () => controlPlanes().every(isFree), MINUTE);
    await this.stopAll();
    expect(findPanics(this), 'panics').to.deep.equal([]);
    expect(this.violations, 'creates without a record').to.deep.equal([]);
    expect(findActionsAfterExit(this), 'actions of managers after their end').to.deep.equal([]);
    expect(
      this.objects(PLURAL).map(({ metadata }) => metadata.name),
      'objects left',
    ).to.deep.equal([]);
    if (this.isSharing) return;
    this.removeEksClusterOfDeletedCluster();
    await expectNothingLeft(this.aws.admin);
  }

  /**
   * Removes the EKS cluster if its Cluster or control plane has been deleted, as Cluster API Provider AWS does. EKS
   * then removes the access entries too. The EKS cluster stays while it has Fargate profiles, because EKS refuses to
   * delete it.
   */
  private removeEksClusterOfDeletedCluster(): void {
    const isDeleted =
      this.object('clusters', CLUSTER) === undefined ||
      this.object('awsmanagedcontrolplanes', CONTROL_PLANE_REF.name) === undefined;
    if (isDeleted && this.aws.admin.profiles().length === 0) this.aws.admin.removeCluster({ name: EKS_CLUSTER });
  }

  async deleteAndFinish(...names: readonly string[]): Promise<void> {
    this.delete(...names);
    await this.gone(...names);
    await this.finish();
  }

  trace(): string {
    return formatTrace(this.writes, this.aws.admin.calls(), this.startedAt);
  }
}
