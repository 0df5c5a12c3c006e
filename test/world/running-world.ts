import type { Emulator } from '../aws/emulator.ts';
import type { ClusterView } from '../aws/admin/views.ts';
import { type RawCondition, type RawList, type RawObject, ApiError } from '../envtest/clients/api.ts';
import type { ControlPlane } from '../envtest/control-plane/controlplane.ts';
import { kubectl } from '../envtest/clients/kubectl.ts';
import type { Exit } from '../envtest/control-plane/process.ts';
import { endAll } from '../support/end-all.ts';
import { eventually } from '../support/eventually.ts';
import type { ProgramResult } from '../support/run-program.ts';
import { type EksClusterOfTest, removeEksClustersOfDeletedClusters } from './aws/deleted-clusters.ts';
import { type EmulatedAws, REGION } from './aws/emulated-aws.ts';
import type { RunningManager } from './manager/manager.ts';
import { type ManagerOptions, Managers } from './manager/managers.ts';
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
import type { EksClusterOptions, WaitOptions, World } from './world.ts';

interface Event {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly metadata: { readonly resourceVersion: string };
}

export class RunningWorld implements World {
  readonly controlPlane: ControlPlane;
  readonly #aws: EmulatedAws;
  readonly #managers: Managers;
  readonly #cleanups: (() => Promise<void>)[] = [];
  readonly #eksClusters: EksClusterOfTest[] = [];
  readonly #profileNotifier: WatchNotifier;

  constructor(controlPlane: ControlPlane, aws: EmulatedAws) {
    this.controlPlane = controlPlane;
    this.#aws = aws;
    this.#managers = new Managers(controlPlane, aws.url);
    this.#profileNotifier = new WatchNotifier(controlPlane.api, `${PROFILES}/awsfargateprofiles`);
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

  get awsView(): World['awsView'] {
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

  waitForManagerExit(manager: RunningManager): Promise<Exit> {
    return this.#managers.waitForExit(manager);
  }

  async createNamespace(name: string): Promise<void> {
    await this.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }

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

  ready(name: string, options: WaitOptions = {}): Promise<RawObject> {
    return this.condition(name, 'Ready', { status: 'True' }, options);
  }

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

  async events(name: string, namespace = 'default'): Promise<readonly string[]> {
    const { items } = await this.controlPlane.api.list<Event>(`/api/v1/namespaces/${namespace}/events`, {
      fieldSelector: `involvedObject.name=${name}`,
    });
    return items
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

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

  addCleanup(cleanup: () => Promise<void>): void {
    this.#cleanups.push(cleanup);
  }

  stop(): Promise<void> {
    return endAll(
      ...this.#cleanups,
      () => this.#profileNotifier.stop(),
      () => this.controlPlane.stop(),
      () => this.#aws.close(),
    );
  }
}
