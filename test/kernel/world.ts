import { expect } from 'chai';
import type { AWSFargateProfileStatus, Condition } from '../../api/v1beta2/index.ts';
import { FINALIZER, PLURAL, PROVISIONED_IN_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import { sleep } from '../../pkg/env/deadline.ts';
import { SeededRandom } from '../../pkg/env/testing/seeded-random.ts';
import { VirtualClock } from '../../pkg/env/testing/virtual-clock.ts';
import { FakeApiServer } from '../../pkg/kube/testing/fake-api-server.ts';
import type { KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import { Emulator } from '../aws/emulator.ts';
import { expectNothingLeft } from '../aws/expect-nothing-left.ts';
import type { CallRecord } from '../aws/call-log.ts';
import type { ConfigPatch } from '../aws/model/config.ts';
import { seededEnv } from '../aws/model/env.ts';
import { EmulatorRequestHandler } from '../aws/request-handler.ts';
import { afterlifeOf, conditionsOf, describeWorld, panicsOf, statusOf, troublesOf, warningsOf } from './findings.ts';
import { KINDS } from './kinds.ts';
import { KernelManager } from './manager.ts';
import type { KubeWrite } from './trace.ts';
import { recordingWrites, traceOf } from './trace.ts';

export const SECOND: Ms = 1_000;
export const MINUTE: Ms = 60_000;

export const ACCOUNT = '123456789012';
const NAMESPACE = 'default';
export const CLUSTER = 'prod';
export const EKS_CLUSTER = 'default_prod-control-plane';

/** How the Cluster names its control plane. */
export const CONTROL_PLANE_REF = {
  apiGroup: 'controlplane.cluster.x-k8s.io',
  kind: 'AWSManagedControlPlane',
  name: `${CLUSTER}-control-plane`,
};

/** As long as EKS takes, within a factor of two; an answer of AWS takes what it takes from nearby. */
const AWS: ConfigPatch = {
  eks: { createMs: [60 * SECOND, 120 * SECOND], deleteMs: [30 * SECOND, 90 * SECOND] },
  latencyMs: [20, 200],
};

export interface WorldOptions {
  /** Of all that is random, the managers included. */
  readonly seed?: number;
  readonly aws?: ConfigPatch;
  /** How long the API server takes for each request; default 5 ms. */
  readonly latency?: Ms;
  /** How much later than the write a watch shows it; default 5 ms. */
  readonly watchLag?: Ms;
}

/**
 * An API server, AWS and any number of managers, all in this process and on one virtual clock. It has one Cluster with
 * its control plane and EKS cluster. The same seed and the same doings give the same run.
 */
export class KernelWorld {
  readonly clock = new VirtualClock();
  readonly api: FakeApiServer;
  readonly aws: Emulator;
  /** Of all managers. */
  readonly writes: KubeWrite[] = [];
  readonly managers: KernelManager[] = [];
  /** Called at each change in AWS or in the API server by a manager, before it learns of it. */
  onEffect: () => void = () => {};
  /** For the test's own draws. */
  readonly random: SeededRandom;
  /** What was made in AWS although no object would let a successor find it. */
  private readonly violations: string[] = [];
  private readonly seed: number;
  /** Wall clock. */
  readonly begin: Ms;

  constructor({ seed = 1, aws = {}, latency = 5, watchLag = 5 }: WorldOptions = {}) {
    const { clock } = this;
    this.seed = seed;
    this.begin = clock.now();
    this.random = new SeededRandom(seed);
    this.api = new FakeApiServer({ clock, random: new SeededRandom(seed + 1), kinds: KINDS });
    this.api.latency = latency;
    this.api.watchLag = watchLag;
    const never = new AbortController().signal;
    this.aws = new Emulator({
      clock: { now: () => clock.now(), sleep: (ms) => sleep(clock, ms, never) },
      env: seededEnv(seed),
      config: { ...AWS, ...aws, eks: { ...AWS.eks, ...aws.eks } },
    });
    this.aws.onCall((call, phase) => {
      if (phase === 'before' && !this.isRecorded(call))
        this.violations.push(`${call.operation} ${JSON.stringify(call.nouns)}`);
      if (phase === 'after' && call.applied) this.onEffect();
    });
    this.createCluster();
  }

  private createCluster(): void {
    const { subnets } = this.aws.admin.createCluster({ name: EKS_CLUSTER });
    const controlPlaneName = `${CLUSTER}-control-plane`;
    this.create('clusters', { metadata: { name: CLUSTER }, spec: { controlPlaneRef: CONTROL_PLANE_REF } });
    this.create('awsmanagedcontrolplanes', {
      metadata: { name: controlPlaneName, labels: { 'cluster.x-k8s.io/cluster-name': CLUSTER } },
      spec: {
        eksClusterName: EKS_CLUSTER,
        region: 'us-east-1',
        network: {
          subnets: subnets.map(({ id, isPublic, availabilityZone }, index) => ({
            id: `${CLUSTER}-subnet-${index}`,
            resourceID: id,
            isPublic,
            availabilityZone,
          })),
        },
      },
    });
    this.patch('awsmanagedcontrolplanes', controlPlaneName, { status: { ready: true } }, 'status');
  }

  private keyOf(plural: string, name: string): ObjectKey {
    return { namespace: this.api.kind(plural).namespaced === false ? '' : NAMESPACE, name };
  }

  /** Creates an object, without its status, as somebody else would. */
  create(plural: string, object: Readonly<Record<string, unknown>>): void {
    this.api.storage.create(this.api.kind(plural), this.keyOf(plural, '').namespace, object);
  }

  /** Merge-patches an object, or its status. */
  patch(plural: string, name: string, change: object, subresource?: 'status'): void {
    this.api.storage.mergePatch(this.api.kind(plural), this.keyOf(plural, name), change, subresource);
  }

  /** Asks for the deletion of an object. */
  remove(plural: string, name: string): void {
    this.api.storage.delete(this.api.kind(plural), this.keyOf(plural, name));
  }

  object(plural: string, name: string): KubeObject | undefined {
    return this.api.storage.get(this.api.kind(plural), this.keyOf(plural, name));
  }

  /** Whether what a call makes can be found by who comes after a crash: its object is held, and its status names it. */
  private isRecorded({ operation, nouns }: CallRecord): boolean {
    const names = (status: AWSFargateProfileStatus): boolean => {
      if (operation === 'CreateRole') return status.role?.name === nouns['RoleName'];
      return status.profileName === nouns['fargateProfileName'] && status.createRequestedAt !== undefined;
    };
    const isCreate = operation === 'CreateRole' || operation === 'CreateFargateProfile';
    return (
      !isCreate ||
      this.objects(PLURAL).some((object) => {
        const status = statusOf(object);
        const { finalizers = [], annotations = {} } = object.metadata;
        const isLocated = annotations[PROVISIONED_IN_ANNOTATION]?.startsWith(`${ACCOUNT}/`) === true;
        return finalizers.includes(FINALIZER) && isLocated && status.account === ACCOUNT && names(status);
      })
    );
  }

  /** Starts a manager: process and access key are its own. */
  start(...flags: readonly string[]): KernelManager {
    return this.startSkewed(0, ...flags);
  }

  /** Starts one whose wall clock is ahead by `skew`. */
  startSkewed(skew: Ms, ...flags: readonly string[]): KernelManager {
    const { clock } = this;
    const name = `manager-${this.managers.length + 1}`;
    const { accessKeyId } = this.aws.admin.registerKey({ account: ACCOUNT, accessKeyId: name });
    const manager = new KernelManager({
      name,
      seed: this.seed * 1_000 + this.managers.length,
      clock,
      kube: recordingWrites(this.api, {
        from: name,
        clock,
        writes: this.writes,
        onAnswer: () => this.onEffect(),
      }),
      aws: new EmulatorRequestHandler(this.aws),
      accessKeyId,
      flags,
      skew,
    });
    this.managers.push(manager);
    return manager;
  }

  /** Tells a manager to stop and waits until it has; it leaves no timer behind. */
  async stop(manager: KernelManager): Promise<void> {
    manager.stop();
    await this.until(`${manager.name} has stopped`, () => manager.ended !== undefined, MINUTE);
    expect(manager.timers, `timers that ${manager.name} left behind`).to.deep.equal([]);
  }

  apply(...names: readonly string[]): void {
    for (const name of names) this.applyWith(name, {});
  }

  /** An object that is right, but for what `spec` says otherwise. */
  applyWith(name: string, spec: object): void {
    this.create(PLURAL, {
      metadata: { name },
      spec: { clusterName: CLUSTER, selectors: [{ namespace: name }], ...spec },
    });
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

  /** How the status of Ready changes from now on, as it happens. */
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

  /** Milliseconds since the world began. */
  get elapsed(): Ms {
    return this.clock.monotonic();
  }

  /** Lets time pass until it holds. What the objects say, and the managers said last, is in the error when it never does. */
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

  /** The mutations of AWS, by whom ever, refused ones included. */
  mutations(): readonly CallRecord[] {
    return this.aws.admin.calls({ mutates: true });
  }

  /** Those that concern the profile or the role of one object. */
  mutationsFor(name: string): readonly CallRecord[] {
    const isAbout = ({ nouns }: CallRecord): boolean =>
      nouns['fargateProfileName'] === `${NAMESPACE}_${name}` ||
      nouns['RoleName'] === `${CLUSTER}-${NAMESPACE}_${name}_fargate`;
    return this.mutations().filter(isAbout);
  }

  /** Events of type Warning. */
  warnings(): readonly string[] {
    return warningsOf(this);
  }

  /** All that an undisturbed run must not show. */
  troubles(): readonly string[] {
    return troublesOf(this);
  }

  /** Waits for the end of what the managers have begun and stops them; then no object may be left, and nothing in AWS. */
  async finish(): Promise<void> {
    const controlPlanes = (): readonly KubeObject[] => this.objects('awsmanagedcontrolplanes');
    const isFree = ({ metadata }: KubeObject): boolean => (metadata.finalizers ?? []).length === 0;
    await this.until('nothing keeps the control plane', () => controlPlanes().every(isFree), MINUTE);
    for (const manager of this.managers) if (manager.ended === undefined) await this.stop(manager);
    expect(panicsOf(this), 'panics').to.deep.equal([]);
    expect(this.violations, 'made before it was recorded').to.deep.equal([]);
    expect(afterlifeOf(this), 'what managers did after their end').to.deep.equal([]);
    expect(
      this.objects(PLURAL).map(({ metadata }) => metadata.name),
      'objects left',
    ).to.deep.equal([]);
    await expectNothingLeft(this.aws.admin);
  }

  trace(): string {
    return traceOf(this.writes, this.aws.admin.calls(), this.begin);
  }
}
