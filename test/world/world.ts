import { fileURLToPath } from 'node:url';
import type { Emulator } from '../aws/emulator.ts';
import type { ConfigPatch } from '../aws/model/config.ts';
import type { ClusterView, ProfileView, RoleView } from '../aws/admin/views.ts';
import { type RawCondition, type RawList, type RawObject, ApiError } from '../envtest/clients/api.ts';
import { type CrdManifest, STAND_IN_CRDS, applyCrds } from '../envtest/clients/crds.ts';
import { kubectl } from '../envtest/clients/kubectl.ts';
import { type ControlPlane, startControlPlane } from '../envtest/control-plane/controlplane.ts';
import { type SetUp, EMPTY_SET_UP, MANAGER_USER, acquireControlPlane } from '../envtest/control-plane/pool.ts';
import type { Exit } from '../envtest/control-plane/process.ts';
import { endAll } from '../support/end-all.ts';
import { eventually } from '../support/eventually.ts';
import type { ProgramResult } from '../support/run-program.ts';
import { type EksClusterOfTest, removeEksClustersOfDeletedClusters } from './aws/deleted-clusters.ts';
import { type EmulatedAws, REGION, startEmulatedAws } from './aws/emulated-aws.ts';
import type { RunningManager } from './manager/manager.ts';
import { type ManagerOptions, Managers } from './manager/managers.ts';
import { applyRbac } from './manager/rbac.ts';
import type { Manifest } from './manifests.ts';
import {
  PROFILES,
  clusterObject,
  clusterPath,
  controlPlaneObject,
  controlPlanePath,
  networkOf,
  pathOf,
  pathOfManifest,
} from './manifests.ts';
import { WatchNotifier } from './watch-notifier.ts';

export { ACCOUNT, AWS_KEY, REGION } from './aws/emulated-aws.ts';
export { clusterObject, clusterPath, controlPlanePath, fargateProfile, pathOf } from './manifests.ts';

export const OUR_CRD = fileURLToPath(
  new URL('../../config/crd/bases/infrastructure.cluster.x-k8s.io_awsfargateprofiles.yaml', import.meta.url),
);

export interface EksClusterOptions {
  readonly namespace?: string;
  readonly region?: string;
  readonly account?: string;
  readonly additionalTags?: Readonly<Record<string, string>>;
  readonly identityRef?: { readonly kind: string; readonly name: string };
  /** The API version of the Cluster object; default: `v1beta2`. */
  readonly version?: 'v1beta1' | 'v1beta2';
}

/**
 * The set-up of an API server for most tests: the RBAC permissions of the manager, the CRD of AWSFargateProfile, and
 * simplified CRDs of the kinds of Cluster API and Cluster API Provider AWS that the manager reads.
 */
export const WITH_CRDS: SetUp = {
  name: 'CRDs',
  apply: async (api) => {
    await Promise.all([applyCrds(api, STAND_IN_CRDS, OUR_CRD), applyRbac(api)]);
  },
};

/** The set-up of an API server with the RBAC permissions of the manager, but without any CRD. */
const WITH_RBAC: SetUp = { name: 'RBAC', apply: applyRbac };

export interface WaitOptions {
  readonly namespace?: string;
  /**
   * The lowest `observedGeneration` with which the condition is accepted; default: 0. A test sets it to skip conditions
   * that the manager wrote before a change of the spec.
   */
  readonly generation?: number;
}

export interface StartWorldOptions {
  readonly config?: ConfigPatch;
  /**
   * The CRDs that the API server serves; default: the CRD of AWSFargateProfile and simplified CRDs of other kinds
   * (`WITH_CRDS`).
   */
  readonly crds?: readonly (string | CrdManifest)[];
  /**
   * Whether the manager's service account exists and has its RBAC permissions; default: true. If false, `crds` is
   * required.
   */
  readonly hasRbac?: boolean;
  /**
   * Additional flags of kube-apiserver. With this option, the test gets an API server of its own, because the shared
   * API servers run without these flags.
   */
  readonly apiServerArgs?: readonly string[];
  /**
   * Another test environment that shares its AWS emulator with this one, so that two management clusters manage the
   * same AWS. The test must stop the other environment last.
   */
  readonly shareAwsWith?: World;
}

interface Event {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly metadata: { readonly resourceVersion: string };
}

/**
 * The environment of an integration test: a real API server, the AWS emulator, and the managers that the test starts.
 */
export class World {
  // `start` sets these four fields.
  #controlPlane!: ControlPlane;
  #aws!: EmulatedAws;
  #managers!: Managers;
  #profileNotifier!: WatchNotifier;
  readonly #cleanups: (() => Promise<void>)[] = [];
  readonly #eksClusters: EksClusterOfTest[] = [];

  /** Starts an API server and the AWS emulator. The test starts the manager itself, with `startManager`. */
  async start({
    config = {},
    crds,
    hasRbac = true,
    apiServerArgs = [],
    shareAwsWith,
  }: StartWorldOptions = {}): Promise<void> {
    const setUp = crds === undefined ? WITH_CRDS : hasRbac ? WITH_RBAC : EMPTY_SET_UP;
    const isShared = apiServerArgs.length === 0;
    this.#controlPlane = await (isShared
      ? acquireControlPlane(setUp)
      : startControlPlane({ users: [MANAGER_USER], apiServerArgs }));
    this.#aws =
      shareAwsWith === undefined
        ? await startEmulatedAws(config)
        : {
            emulator: shareAwsWith.aws,
            url: shareAwsWith.awsUrl,
            // The test environment `shareAwsWith` has started the AWS emulator and stops after this environment. So
            // `shareAwsWith` checks and closes the emulator, and this environment does not.
            finish: () => Promise.resolve(),
            close: () => Promise.resolve(),
          };
    const { api } = this.#controlPlane;
    this.#managers = new Managers(this.#controlPlane, this.#aws.url);
    this.#profileNotifier = new WatchNotifier(api, `${PROFILES}/awsfargateprofiles`);
    try {
      if (!isShared) await setUp.apply(api);
      if (crds !== undefined) await applyCrds(api, ...crds);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  get controlPlane(): ControlPlane {
    return this.#controlPlane;
  }

  get aws(): Emulator {
    return this.#aws.emulator;
  }

  get awsUrl(): string {
    return this.#aws.url;
  }

  /** The manager process that the test has started most recently. */
  get manager(): RunningManager {
    return this.#managers.last;
  }

  /** Finds a Fargate profile or a role in the AWS emulator by its name, in all EKS clusters and accounts. */
  get awsView(): {
    profile(name: string): ProfileView | undefined;
    role(name: string): RoleView | undefined;
  } {
    const { admin } = this.aws;
    return {
      profile: (name) => admin.profiles().find((each) => each.name === name),
      role: (name) => admin.roles().find((each) => each.name === name),
    };
  }

  startManager(options: Partial<ManagerOptions> = {}): Promise<RunningManager> {
    return this.#managers.start(options);
  }

  /**
   * Stops a manager with SIGTERM; default: the manager that the test has started most recently. Fails if the manager
   * had a panic or does not exit with code 0.
   */
  stopManager(manager = this.manager): Promise<void> {
    return this.#managers.stop(manager);
  }

  /** Waits until a manager exits. `finish` then does not count this exit as unexpected. */
  waitForManagerExit(manager: RunningManager): Promise<Exit> {
    return this.#managers.waitForExit(manager);
  }

  async createNamespace(name: string): Promise<void> {
    await this.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }

  /**
   * Creates a Cluster and its AWSManagedControlPlane in Kubernetes, and the EKS cluster in AWS, with two private
   * subnets and a public one.
   */
  async createEksCluster(name: string, options: EksClusterOptions = {}): Promise<ClusterView> {
    const { namespace = 'default', region = REGION, additionalTags, identityRef } = options;
    const eksClusterName = `${namespace}_${name}-control-plane`;
    const place = { region, ...(options.account !== undefined && { account: options.account }) };
    const cluster = this.aws.admin.createCluster({ name: eksClusterName, ...place });
    const paths = [clusterPath(name, namespace), controlPlanePath(name, namespace)];
    this.#eksClusters.push({ eksCluster: cluster, paths });
    const spec = {
      eksClusterName,
      region,
      ...(additionalTags && { additionalTags }),
      ...(identityRef && { identityRef }),
      network: networkOf(name, cluster.subnets),
    };
    const labels = { 'cluster.x-k8s.io/cluster-name': name };
    await this.apply(
      clusterObject(name, namespace, options.version ?? 'v1beta2'),
      controlPlaneObject(name, spec, { namespace, labels }),
    );
    await this.controlPlane.api.patch(`${controlPlanePath(name, namespace)}/status`, { status: { ready: true } });
    return cluster;
  }

  /** Applies objects one after the other, like `kubectl apply --server-side --force-conflicts`. */
  async apply(...objects: readonly object[]): Promise<void> {
    // A Namespace must exist before the objects in it, so the objects are applied one after the other.
    for (const object of objects as readonly Manifest[])
      await this.controlPlane.api.apply(pathOfManifest(object), object);
  }

  kubectl(args: readonly string[], stdin?: string): Promise<ProgramResult> {
    return kubectl(this.controlPlane, args, stdin === undefined ? {} : { stdin });
  }

  async profile(name: string, namespace = 'default'): Promise<RawObject | undefined> {
    const path = pathOf(name, namespace);
    const { status, body } = await this.controlPlane.api.request('GET', path);
    if (status === 404) return undefined;
    if (status >= 400) throw new ApiError(`GET ${path}`, { status, body, warnings: [] });
    return body as RawObject;
  }

  async profiles(): Promise<readonly RawObject[]> {
    return (await this.controlPlane.api.list(`${PROFILES}/awsfargateprofiles`)).items;
  }

  /** Changes an AWSFargateProfile with a JSON merge patch. */
  async patch(name: string, patch: object, namespace = 'default'): Promise<void> {
    await this.controlPlane.api.patch(pathOf(name, namespace), patch);
  }

  /** Deletes an AWSFargateProfile without waiting until it is gone, like `kubectl delete --wait=false`. */
  async delete(name: string, namespace = 'default'): Promise<void> {
    await this.controlPlane.api.delete(pathOf(name, namespace));
  }

  /**
   * Waits until an AWSFargateProfile has a condition with this type, status, and reason, and returns the version of the
   * object that has it. A version of the object also counts if a newer version has replaced it during the wait.
   */
  async condition(
    name: string,
    type: string,
    wanted: { readonly status: string; readonly reason?: string },
    { namespace = 'default', generation = 0 }: WaitOptions = {},
  ): Promise<RawObject> {
    const findCondition = (object: RawObject | undefined): RawCondition | undefined =>
      object?.status?.conditions?.find((condition) => condition.type === type);
    const isWanted = (object: RawObject): boolean => {
      const found = findCondition(object);
      return (
        found?.status === wanted.status &&
        (wanted.reason === undefined || found.reason === wanted.reason) &&
        (found.observedGeneration ?? 0) >= generation
      );
    };
    let calledAt: string | undefined;
    return eventually(
      async () => {
        const { object, resourceVersion } = await this.#readProfile(name, namespace);
        calledAt ??= resourceVersion;
        const before = calledAt === undefined ? [] : this.#profileNotifier.versionsAfter(calledAt, namespace, name);
        const found = [...(object === undefined ? [] : [object]), ...before].find(isWanted);
        if (found === undefined) throw new Error(JSON.stringify(findCondition(object) ?? object ?? 'no such object'));
        return found;
      },
      {
        what: `${type}=${wanted.status} ${wanted.reason ?? ''} of ${name}`,
        subscribe: () => this.#profileNotifier.subscribe(namespace, name),
      },
    );
  }

  /**
   * Reads an AWSFargateProfile with a list request, because the answer to a list has a resourceVersion even if the
   * object does not exist. The result has no resourceVersion while the API server does not serve AWSFargateProfile.
   */
  async #readProfile(
    name: string,
    namespace: string,
  ): Promise<{ readonly object?: RawObject; readonly resourceVersion?: string }> {
    const path = `${PROFILES}/namespaces/${namespace}/awsfargateprofiles`;
    const query = { fieldSelector: `metadata.name=${name}` };
    const { status, body } = await this.controlPlane.api.request('GET', path, { query });
    if (status === 404) return {};
    if (status >= 400) throw new ApiError(`GET ${path}`, { status, body, warnings: [] });
    const { metadata, items } = body as RawList;
    const [object] = items;
    return { resourceVersion: metadata.resourceVersion, ...(object && { object }) };
  }

  /** Waits until an AWSFargateProfile has the condition Ready with status True. */
  ready(name: string, options: WaitOptions = {}): Promise<RawObject> {
    return this.condition(name, 'Ready', { status: 'True' }, options);
  }

  /** Waits until the API server has no AWSFargateProfile with this name. */
  async gone(name: string, { namespace = 'default' }: WaitOptions = {}): Promise<void> {
    await eventually(
      async () => {
        const object = await this.profile(name, namespace);
        if (object !== undefined) throw new Error(JSON.stringify(object.status?.conditions));
        return true;
      },
      { what: `the deletion of ${name}`, subscribe: () => this.#profileNotifier.subscribe(namespace, name) },
    );
  }

  /** The Events about all objects with this name, sorted by their last change, each as `Type Reason: message`. */
  async events(name: string, namespace = 'default'): Promise<readonly string[]> {
    const { items } = await this.controlPlane.api.list<Event>(`/api/v1/namespaces/${namespace}/events`, {
      fieldSelector: `involvedObject.name=${name}`,
    });
    return items
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

  /**
   * Waits until an Event about an object with this name contains `text`, and returns all Events about objects with this
   * name.
   */
  async event(name: string, text: string, { namespace }: WaitOptions = {}): Promise<readonly string[]> {
    return eventually(
      async () => {
        const events = await this.events(name, namespace);
        if (!events.some((event) => event.includes(text))) throw new Error(`the events are:\n${events.join('\n')}`);
        return events;
      },
      { what: `an Event about ${name} with "${text}"` },
    );
  }

  /**
   * Deletes all AWSFargateProfiles and waits until they are gone. Fails if AWS still has a Fargate profile or role that
   * the manager should have deleted, or if a manager had a panic or exited unexpectedly. Then calls `stop`, even after
   * a failure.
   */
  async finish(): Promise<void> {
    await endAll(
      async () => {
        await this.#removeProfiles();
        await this.#managers.finish();
        await removeEksClustersOfDeletedClusters(this.controlPlane.api, this.aws, this.#eksClusters);
        await this.#aws.finish();
      },
      () => this.stop(),
    );
  }

  async #removeProfiles(): Promise<void> {
    const names = (await this.profiles()).map(({ metadata: { name, namespace = '' } }) => ({ name, namespace }));
    for (const { name, namespace } of names) await this.delete(name, namespace);
    // After a failed test, several waits may time out. One after the other, they would exceed the timeout of Mocha's
    // `after` hook, so they run at the same time.
    await Promise.all(names.map(({ name, namespace }) => this.gone(name, { namespace })));
  }

  /** Adds a function that `stop` calls before it stops the API server and the AWS emulator. */
  addCleanup(cleanup: () => void | Promise<void>): void {
    this.#cleanups.push(async () => cleanup());
  }

  /**
   * Stops the managers, the API server, and the AWS emulator. Unlike `finish`, does not check whether AWS still has
   * resources or whether a manager had a panic.
   */
  stop(): Promise<void> {
    return endAll(
      ...this.#cleanups,
      () => this.#profileNotifier.stop(),
      () => this.controlPlane.stop(),
      () => this.#aws.close(),
    );
  }
}

/** Starts a test environment, which the test then finishes or stops. Most test files call `useWorld` instead. */
export async function startWorld(options?: StartWorldOptions): Promise<World> {
  const world = new World();
  await world.start(options);
  return world;
}

/**
 * Registers hooks of Mocha that start a test environment before the tests of a suite, and finish it after them. The
 * suite can use the returned environment in its tests and in the hooks that it registers later. Mocha also runs `after`
 * hooks in the order of their registration, so the suite closes what it has opened with `addCleanup`.
 */
export function useWorld(options: StartWorldOptions = {}): World {
  const world = new World();
  let hasStarted = false;
  before(async () => {
    await world.start(options);
    hasStarted = true;
  });
  after(() => (hasStarted ? world.finish() : undefined));
  return world;
}
