import { fileURLToPath } from 'node:url';
import type { ConfigPatch } from '../aws/model/config.ts';
import { withConfig, defaultConfig } from '../aws/model/config.ts';
import { expectNothingLeft } from '../aws/expect-nothing-left.ts';
import type { Emulator } from '../aws/emulator.ts';
import type { EmulatorServer } from '../aws/server.ts';
import { startServer } from '../aws/server.ts';
import type { ClusterView, ProfileView, RoleView } from '../aws/views.ts';
import { ApiError } from '../envtest/api.ts';
import type { Condition, KubeList, KubeObject } from '../envtest/api.ts';
import type { ControlPlane } from '../envtest/controlplane.ts';
import { startControlPlane } from '../envtest/controlplane.ts';
import type { User } from '../envtest/credentials.ts';
import type { CustomResourceDefinition } from '../envtest/crds.ts';
import { STAND_IN_CRDS, applyCrds } from '../envtest/crds.ts';
import type { KubectlResult } from '../envtest/kubectl.ts';
import { kubectl } from '../envtest/kubectl.ts';
import type { Exit } from '../envtest/process.ts';
import { endAll } from '../support/end-all.ts';
import { eventually } from '../support/eventually.ts';
import { Bell } from './bell.ts';
import type { ManagerOptions, RunningManager } from './manager.ts';
import { Managers } from './managers.ts';
import type { Manifest } from './objects.ts';
import { PROFILES, clusterObject, controlPlanePath, pathOf, pathOfManifest } from './objects.ts';

export { clusterObject, clusterPath, controlPlanePath, fargateProfile, pathOf } from './objects.ts';

export const OUR_CRD = fileURLToPath(
  new URL('../../config/crd/bases/infrastructure.cluster.x-k8s.io_awsfargateprofiles.yaml', import.meta.url),
);

export const AWS_KEY = 'test';
export const ACCOUNT = '123456789012';
export const REGION = 'us-east-1';

/** EKS needs minutes; here it is quick, but never so quick that a state in between could not be seen. */
const QUICK: ConfigPatch = { eks: { createMs: 300, deleteMs: 300 } };

export interface EksClusterOptions {
  readonly namespace?: string;
  readonly region?: string;
  readonly account?: string;
  readonly ready?: boolean;
  readonly additionalTags?: Readonly<Record<string, string>>;
  readonly identityRef?: { readonly kind: string; readonly name: string };
  /** In which version the Cluster is written. */
  readonly version?: 'v1beta1' | 'v1beta2';
}

interface Where {
  readonly namespace?: string;
  readonly timeoutMs?: number;
  /** For conditions: of no earlier generation than this. */
  readonly generation?: number;
}

export interface WorldOptions {
  readonly config?: ConfigPatch;
  /** Absent: our kind, and stand-ins for all that belongs to Cluster API and its AWS provider. */
  readonly crds?: readonly (string | CustomResourceDefinition)[];
  /** Users of the API server besides the administrator. */
  readonly users?: readonly User[];
  /** Flags of the API server besides ours. */
  readonly apiServerArgs?: readonly string[];
  /** A second management cluster: it has the AWS of this world, which is to end after it, and looks there for what is left. */
  readonly besides?: World;
}

/** A real API server, an emulated AWS and the built manager: what a user of the product has in front of them. */
export interface World {
  readonly controlPlane: ControlPlane;
  readonly aws: Emulator;
  readonly awsUrl: string;
  /** What is in AWS under a name, whichever cluster it belongs to. */
  readonly inAws: { profile(name: string): ProfileView | undefined; role(name: string): RoleView | undefined };
  /** The manager started last. */
  readonly manager: RunningManager;
  startManager(options?: Partial<ManagerOptions>): Promise<RunningManager>;
  /** Ends a manager, the last if none is named, as a rollout does, and expects it to end well. */
  stopManager(manager?: RunningManager): Promise<void>;
  /** Waits until a manager ends by itself, as the test expects of it, and gives how. */
  managerEnded(manager: RunningManager): Promise<Exit>;
  /** A Cluster with its AWSManagedControlPlane, and the EKS cluster in AWS, with two private subnets and a public one. */
  createEksCluster(name: string, options?: EksClusterOptions): Promise<ClusterView>;
  setControlPlaneReady(name: string, ready: boolean, namespace?: string): Promise<void>;
  createNamespace(name: string): Promise<void>;
  /** Server-side apply, as `kubectl apply --server-side` does it. */
  apply(...objects: readonly object[]): Promise<void>;
  kubectl(args: readonly string[], stdin?: string): Promise<KubectlResult>;
  profile(name: string, namespace?: string): Promise<KubeObject | undefined>;
  profiles(): Promise<readonly KubeObject[]>;
  /** Merge-patches a profile. */
  patch(name: string, patch: object, namespace?: string): Promise<void>;
  /** Asks for the deletion of a profile's object, and waits for nothing. */
  delete(name: string, namespace?: string): Promise<void>;
  /**
   * Waits until the condition of a profile has that status (and reason), and gives the object; or, if it had it since this was
   * called and has it no more, the version of the object that had it.
   */
  condition(
    name: string,
    type: string,
    wanted: { readonly status: string; readonly reason?: string },
    where?: Where,
  ): Promise<KubeObject>;
  ready(name: string, where?: Where): Promise<KubeObject>;
  /** Waits until the profile's object is gone. */
  gone(name: string, where?: Where): Promise<void>;
  /** `Type Reason: message` of each event about objects of this name, oldest first. */
  events(name: string, namespace?: string): Promise<readonly string[]>;
  /** Waits until there is an event about an object of this name that contains `text`, and gives all of them. */
  event(name: string, text: string, where?: Where): Promise<readonly string[]>;
  /**
   * Deletes what profiles there are and sees them go; then looks that nothing is left in AWS and that no manager panicked or
   * ended by itself, and ends everything.
   */
  finish(): Promise<void>;
  /** Ends everything. */
  stop(): Promise<void>;
  /** Has something that a test added to the world ended with it, before the servers are. */
  endWith(end: () => Promise<void>): void;
}

/** Starts everything but the manager. */
export async function startWorld({
  config = {},
  crds = [STAND_IN_CRDS, OUR_CRD],
  users = [],
  apiServerArgs = [],
  besides,
}: WorldOptions = {}): Promise<World> {
  const controlPlane = await startControlPlane({ users, apiServerArgs });
  const aws: Aws =
    besides === undefined
      ? await startAws(config)
      : {
          emulator: besides.aws,
          url: besides.awsUrl,
          // What a failed test has left may be looked after by the other, which ends later.
          finish: () => Promise.resolve(),
          close: () => Promise.resolve(),
        };
  const world = new RunningWorld(controlPlane, aws);
  try {
    await applyCrds(controlPlane.api, ...crds);
    return world;
  } catch (error) {
    await world.stop();
    throw error;
  }
}

interface Event {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly metadata: { readonly resourceVersion: string };
}

interface Aws extends EmulatorServer {
  /** Looks that nothing is left. */
  finish(): Promise<void>;
}

async function startAws(config: ConfigPatch): Promise<Aws> {
  const server = await startServer({
    keys: [{ accessKeyId: AWS_KEY, account: ACCOUNT }],
    config: withConfig(withConfig(defaultConfig, QUICK), config),
  });
  return { ...server, finish: () => expectNothingLeft(server.emulator.admin) };
}

class RunningWorld implements World {
  readonly controlPlane: ControlPlane;
  readonly #aws: Aws;
  readonly #managers: Managers;
  readonly #endings: (() => Promise<void>)[] = [];
  readonly #bell: Bell;

  constructor(controlPlane: ControlPlane, aws: Aws) {
    this.controlPlane = controlPlane;
    this.#aws = aws;
    this.#managers = new Managers(controlPlane, aws.url);
    this.#bell = new Bell(controlPlane.api, `${PROFILES}/awsfargateprofiles`);
  }

  get aws(): Emulator {
    return this.#aws.emulator;
  }

  get awsUrl(): string {
    return this.#aws.url;
  }

  get manager(): RunningManager {
    return this.#managers.last;
  }

  get inAws(): World['inAws'] {
    const { admin } = this.aws;
    return {
      profile: (name) => admin.profiles().find((each) => each.name === name),
      role: (name) => admin.roles().find((each) => each.name === name),
    };
  }

  startManager(options: Partial<ManagerOptions> = {}): Promise<RunningManager> {
    return this.#managers.start(options);
  }

  stopManager(manager = this.manager): Promise<void> {
    return this.#managers.stop(manager);
  }

  managerEnded(manager: RunningManager): Promise<Exit> {
    return this.#managers.ended(manager);
  }

  async createNamespace(name: string): Promise<void> {
    await this.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }

  async createEksCluster(name: string, options: EksClusterOptions = {}): Promise<ClusterView> {
    const { namespace = 'default', region = REGION, ready = true, additionalTags, identityRef } = options;
    const eksClusterName = `${namespace}_${name}-control-plane`;
    const place = { region, ...(options.account !== undefined && { account: options.account }) };
    const cluster = this.aws.admin.createCluster({ name: eksClusterName, ...place });
    await this.apply(clusterObject(name, namespace, options.version ?? 'v1beta2'), {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      kind: 'AWSManagedControlPlane',
      metadata: { name: `${name}-control-plane`, namespace, labels: { 'cluster.x-k8s.io/cluster-name': name } },
      spec: {
        eksClusterName,
        region,
        ...(additionalTags && { additionalTags }),
        ...(identityRef && { identityRef }),
        network: {
          subnets: cluster.subnets.map(({ id, isPublic, availabilityZone }, index) => ({
            id: `${name}-subnet-${index}`,
            resourceID: id,
            isPublic,
            availabilityZone,
          })),
        },
      },
    });
    await this.setControlPlaneReady(name, ready, namespace);
    return cluster;
  }

  async setControlPlaneReady(name: string, ready: boolean, namespace = 'default'): Promise<void> {
    await this.controlPlane.api.patch(`${controlPlanePath(name, namespace)}/status`, { status: { ready } });
  }

  async apply(...objects: readonly object[]): Promise<void> {
    // One after the other, as kubectl: a namespace comes before what is in it.
    for (const object of objects as readonly Manifest[])
      await this.controlPlane.api.apply(pathOfManifest(object), object);
  }

  kubectl(args: readonly string[], stdin?: string): Promise<KubectlResult> {
    return kubectl(this.controlPlane, args, stdin === undefined ? {} : { stdin });
  }

  async profile(name: string, namespace = 'default'): Promise<KubeObject | undefined> {
    const path = pathOf(name, namespace);
    const { status, body } = await this.controlPlane.api.request('GET', path);
    if (status === 404) return undefined;
    if (status >= 400) throw new ApiError(`GET ${path}`, { status, body, warnings: [] });
    return body as KubeObject;
  }

  async profiles(): Promise<readonly KubeObject[]> {
    return (await this.controlPlane.api.list(`${PROFILES}/awsfargateprofiles`)).items;
  }

  async patch(name: string, patch: object, namespace = 'default'): Promise<void> {
    await this.controlPlane.api.patch(pathOf(name, namespace), patch);
  }

  async delete(name: string, namespace = 'default'): Promise<void> {
    await this.controlPlane.api.delete(pathOf(name, namespace));
  }

  async condition(
    name: string,
    type: string,
    wanted: { readonly status: string; readonly reason?: string },
    { namespace = 'default', generation = 0, timeoutMs = 30_000 }: Where = {},
  ): Promise<KubeObject> {
    const conditionOf = (object: KubeObject | undefined): Condition | undefined =>
      object?.status?.conditions?.find((condition) => condition.type === type);
    const isWanted = (object: KubeObject): boolean => {
      const found = conditionOf(object);
      return (
        found?.status === wanted.status &&
        (wanted.reason === undefined || found.reason === wanted.reason) &&
        (found.observedGeneration ?? 0) >= generation
      );
    };
    let calledAt: string | undefined;
    return eventually(
      async () => {
        const { object, resourceVersion } = await this.#now(name, namespace);
        calledAt ??= resourceVersion;
        const before = calledAt === undefined ? [] : this.#bell.versionsAfter(calledAt, namespace, name);
        const found = [...(object === undefined ? [] : [object]), ...before].find(isWanted);
        if (found === undefined) throw new Error(JSON.stringify(conditionOf(object) ?? object ?? 'no such object'));
        return found;
      },
      {
        what: `${type}=${wanted.status} ${wanted.reason ?? ''} of ${name}`,
        timeoutMs,
        listen: () => this.#bell.listen(namespace, name),
      },
    );
  }

  /** A profile, and the version of its kind that it was read at; neither while the kind is not served. */
  async #now(
    name: string,
    namespace: string,
  ): Promise<{ readonly object?: KubeObject; readonly resourceVersion?: string }> {
    const path = `${PROFILES}/namespaces/${namespace}/awsfargateprofiles`;
    const query = { fieldSelector: `metadata.name=${name}` };
    const { status, body } = await this.controlPlane.api.request('GET', path, { query });
    if (status === 404) return {};
    if (status >= 400) throw new ApiError(`GET ${path}`, { status, body, warnings: [] });
    const { metadata, items } = body as KubeList;
    const [object] = items;
    return { resourceVersion: metadata.resourceVersion, ...(object && { object }) };
  }

  ready(name: string, options: Where = {}): Promise<KubeObject> {
    return this.condition(name, 'Ready', { status: 'True' }, options);
  }

  async gone(name: string, { namespace = 'default', timeoutMs = 30_000 }: Where = {}): Promise<void> {
    await eventually(
      async () => {
        const object = await this.profile(name, namespace);
        if (object !== undefined) throw new Error(JSON.stringify(object.status?.conditions));
        return true;
      },
      { what: `the end of ${name}`, timeoutMs, listen: () => this.#bell.listen(namespace, name) },
    );
  }

  async events(name: string, namespace = 'default'): Promise<readonly string[]> {
    const { items } = await this.controlPlane.api.list<Event>(`/api/v1/namespaces/${namespace}/events`, {
      fieldSelector: `involvedObject.name=${name}`,
    });
    return items
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

  async event(name: string, text: string, { namespace, timeoutMs }: Where = {}): Promise<readonly string[]> {
    return eventually(
      async () => {
        const events = await this.events(name, namespace);
        if (!events.some((event) => event.includes(text))) throw new Error(`there are:\n${events.join('\n')}`);
        return events;
      },
      { what: `an event about ${name} with "${text}"`, ...(timeoutMs !== undefined && { timeoutMs }) },
    );
  }

  async finish(): Promise<void> {
    await endAll(
      async () => {
        await this.#removeProfiles();
        await this.#managers.finish();
        await this.#aws.finish();
      },
      () => this.stop(),
    );
  }

  async #removeProfiles(): Promise<void> {
    const names = (await this.profiles()).map(({ metadata: { name, namespace = '' } }) => ({ name, namespace }));
    for (const { name, namespace } of names) await this.delete(name, namespace);
    // Side by side: what a failed test has left may all be waited for in vain, and a hook has its time.
    await Promise.all(names.map(({ name, namespace }) => this.gone(name, { namespace })));
  }

  endWith(end: () => Promise<void>): void {
    this.#endings.push(end);
  }

  stop(): Promise<void> {
    return endAll(
      ...this.#endings,
      () => this.#bell.stop(),
      () => this.controlPlane.stop(),
      () => this.#aws.close(),
    );
  }
}
