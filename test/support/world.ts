import { fileURLToPath } from 'node:url';
import type { ConfigPatch } from '../aws/model/config.ts';
import { expectNothingLeft } from '../aws/expect-nothing-left.ts';
import type { Emulator } from '../aws/emulator.ts';
import { startServer } from '../aws/server.ts';
import { ApiError } from '../envtest/api.ts';
import type { KubeObject } from '../envtest/api.ts';
import type { ControlPlane } from '../envtest/controlplane.ts';
import { startControlPlane } from '../envtest/controlplane.ts';
import { STAND_IN_CRDS, applyCrds } from '../envtest/crds.ts';
import type { KubectlResult } from '../envtest/kubectl.ts';
import { kubectl } from '../envtest/kubectl.ts';
import { eventually } from './eventually.ts';
import type { ManagerOptions, RunningManager } from './manager.ts';
import { startManager } from './manager.ts';

export const OUR_CRD = fileURLToPath(
  new URL('../../config/crd/bases/infrastructure.cluster.x-k8s.io_awsfargateprofiles.yaml', import.meta.url),
);

const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2';
const CLUSTERS = '/apis/cluster.x-k8s.io/v1beta2';
const CONTROL_PLANES = '/apis/controlplane.cluster.x-k8s.io/v1beta2';

export interface EksClusterOptions {
  readonly namespace?: string;
  readonly region?: string;
  readonly account?: string;
  readonly ready?: boolean;
  readonly additionalTags?: Readonly<Record<string, string>>;
  readonly identityRef?: { readonly kind: string; readonly name: string };
}

/** A real API server, an emulated AWS and the built manager: what a user of the product has in front of them. */
export interface World {
  readonly controlPlane: ControlPlane;
  readonly aws: Emulator;
  readonly awsUrl: string;
  /** The manager started last. */
  readonly manager: RunningManager;
  startManager(options?: Partial<ManagerOptions>): Promise<RunningManager>;
  /** A Cluster with its AWSManagedControlPlane, and the EKS cluster in AWS, with two private subnets. */
  createEksCluster(name: string, options?: EksClusterOptions): Promise<void>;
  createNamespace(name: string): Promise<void>;
  apply(...objects: readonly object[]): Promise<void>;
  kubectl(args: readonly string[], stdin?: string): Promise<KubectlResult>;
  profile(name: string, namespace?: string): Promise<KubeObject | undefined>;
  profiles(): Promise<readonly KubeObject[]>;
  /** Merge-patches a profile. */
  patch(name: string, patch: object, namespace?: string): Promise<void>;
  /** Waits until the condition of a profile has that status (and reason), and gives the object. */
  condition(
    name: string,
    type: string,
    wanted: { readonly status: string; readonly reason?: string },
    options?: { readonly namespace?: string; readonly timeoutMs?: number },
  ): Promise<KubeObject>;
  ready(name: string, options?: { readonly namespace?: string; readonly timeoutMs?: number }): Promise<KubeObject>;
  /** Waits until the profile's object is gone. */
  gone(name: string, options?: { readonly namespace?: string; readonly timeoutMs?: number }): Promise<void>;
  /** `Type Reason: message` of each event about objects of this name, oldest first. */
  events(name: string, namespace?: string): Promise<readonly string[]>;
  /** Ends everything after looking that nothing is left in AWS and the manager neither panicked nor complained. */
  finish(): Promise<void>;
  /** Ends everything. */
  stop(): Promise<void>;
}

/** Starts everything but the manager. */
export async function startWorld(options: { readonly config?: ConfigPatch } = {}): Promise<World> {
  const controlPlane = await startControlPlane();
  const aws = await startServer({
    keys: [{ accessKeyId: 'test', account: '123456789012' }],
    ...(options.config && { config: options.config }),
  });
  await applyCrds(controlPlane.api, STAND_IN_CRDS, OUR_CRD);
  return new RunningWorld(controlPlane, aws);
}

interface Event {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly metadata: { readonly resourceVersion: string };
  readonly involvedObject: { readonly name: string };
}

type Aws = Awaited<ReturnType<typeof startServer>>;

class RunningWorld implements World {
  readonly controlPlane: ControlPlane;
  readonly #aws: Aws;
  #manager: RunningManager | undefined;

  constructor(controlPlane: ControlPlane, aws: Aws) {
    this.controlPlane = controlPlane;
    this.#aws = aws;
  }

  get aws(): Emulator {
    return this.#aws.emulator;
  }

  get awsUrl(): string {
    return this.#aws.url;
  }

  get manager(): RunningManager {
    if (this.#manager === undefined) throw new Error('no manager was started');
    return this.#manager;
  }

  async startManager(options: Partial<ManagerOptions> = {}): Promise<RunningManager> {
    this.#manager = await startManager(this.controlPlane, { awsUrl: this.awsUrl, ...options });
    return this.#manager;
  }

  async createNamespace(name: string): Promise<void> {
    await this.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }

  async createEksCluster(name: string, options: EksClusterOptions = {}): Promise<void> {
    const { namespace = 'default', region = 'us-east-1', ready = true, additionalTags, identityRef } = options;
    const eksClusterName = `${namespace}_${name}-control-plane`;
    const place = { region, ...(options.account !== undefined && { account: options.account }) };
    const { subnets } = this.aws.admin.createCluster({ name: eksClusterName, ...place });
    await this.apply(
      {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: { name, namespace },
        spec: {
          controlPlaneRef: {
            apiGroup: 'controlplane.cluster.x-k8s.io',
            kind: 'AWSManagedControlPlane',
            name: `${name}-control-plane`,
          },
        },
      },
      {
        apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
        kind: 'AWSManagedControlPlane',
        metadata: { name: `${name}-control-plane`, namespace, labels: { 'cluster.x-k8s.io/cluster-name': name } },
        spec: {
          eksClusterName,
          region,
          ...(additionalTags && { additionalTags }),
          ...(identityRef && { identityRef }),
          network: {
            subnets: subnets.map(({ id, isPublic, availabilityZone }, index) => ({
              id: `${name}-subnet-${index}`,
              resourceID: id,
              isPublic,
              availabilityZone,
            })),
          },
        },
      },
    );
    await this.setControlPlaneReady(name, ready, namespace);
  }

  async setControlPlaneReady(name: string, ready: boolean, namespace = 'default'): Promise<void> {
    const path = `${CONTROL_PLANES}/namespaces/${namespace}/awsmanagedcontrolplanes/${name}-control-plane/status`;
    await this.controlPlane.api.patch(path, { status: { ready } });
  }

  async apply(...objects: readonly object[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    const { code, stderr } = await this.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(list));
    if (code !== 0) throw new Error(`kubectl apply: ${stderr}`);
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

  async condition(
    name: string,
    type: string,
    wanted: { readonly status: string; readonly reason?: string },
    options: { readonly namespace?: string; readonly timeoutMs?: number } = {},
  ): Promise<KubeObject> {
    return eventually(
      async () => {
        const object = await this.profile(name, options.namespace);
        const found = object?.status?.conditions?.find((condition) => condition.type === type);
        const isWanted =
          found?.status === wanted.status && (wanted.reason === undefined || found.reason === wanted.reason);
        if (object === undefined || !isWanted) throw new Error(JSON.stringify(found ?? object ?? 'no such object'));
        return object;
      },
      {
        what: `${type}=${wanted.status} ${wanted.reason ?? ''} of ${name}`,
        timeoutMs: options.timeoutMs ?? 30_000,
        intervalMs: 50,
      },
    );
  }

  ready(name: string, options: { readonly namespace?: string; readonly timeoutMs?: number } = {}): Promise<KubeObject> {
    return this.condition(name, 'Ready', { status: 'True' }, options);
  }

  async gone(name: string, options: { readonly namespace?: string; readonly timeoutMs?: number } = {}): Promise<void> {
    await eventually(
      async () => {
        const object = await this.profile(name, options.namespace);
        if (object !== undefined) throw new Error(JSON.stringify(object.status?.conditions));
        return true;
      },
      { what: `the end of ${name}`, timeoutMs: options.timeoutMs ?? 30_000 },
    );
  }

  async events(name: string, namespace = 'default'): Promise<readonly string[]> {
    const { items } = await this.controlPlane.api.list<Event>(`/api/v1/namespaces/${namespace}/events`);
    return items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

  async finish(): Promise<void> {
    try {
      if (this.#manager?.exit() === undefined && this.#manager !== undefined) {
        const panics = await this.#manager.metric('controller_runtime_reconcile_panics_total');
        if (panics !== 0) throw new Error(`the manager panicked ${panics} times:\n${this.#manager.log()}`);
        const { code } = await this.#manager.stop();
        if (code !== 0) throw new Error(`the manager ended with ${code}:\n${this.#manager.tail()}`);
      }
      await expectNothingLeft(this.aws.admin);
    } finally {
      await this.stop();
    }
  }

  async stop(): Promise<void> {
    await this.controlPlane.stop();
    await this.#aws.close();
  }
}

const pathOf = (name: string, namespace: string): string =>
  `${PROFILES}/namespaces/${namespace}/awsfargateprofiles/${name}`;

export const clusterPath = (name: string, namespace = 'default'): string =>
  `${CLUSTERS}/namespaces/${namespace}/clusters/${name}`;

/** An AWSFargateProfile that is right, but for what `spec` says otherwise. */
export const fargateProfile = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind: 'AWSFargateProfile',
  metadata: { name, namespace: 'default', ...metadata },
  spec: { clusterName: 'prod', selectors: [{ namespace: 'default' }], ...spec },
});
