import type { RemoteAdmin } from '../aws/admin/remote.ts';
import type { ApiClient, RawObject } from '../envtest/clients/api.ts';
import { inParallel } from '../grid/parallel.ts';
import { clusterObject, controlPlaneObject, controlPlanePath, fargateProfile, networkOf } from '../world/objects.ts';
import { REGION } from '../world/world.ts';

const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/awsfargateprofiles';
const CLUSTERS = '/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters';
const CONTROL_PLANES = '/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/default/awsmanagedcontrolplanes';
/**
 * How many requests the benchmark sends to the API server in parallel: enough that creating the objects does not slow
 * down the measurement.
 */
const PARALLEL = 10;

export interface ProfileCounts {
  /** The prefix of the names of the benchmark's clusters and profiles. */
  readonly prefix: string;
  readonly clusters: number;
  readonly profilesEach: number;
  /** The region of the EKS clusters; undefined: the default region of the emulated AWS. */
  readonly region?: string;
}

/** The AWSFargateProfiles of one benchmark run, and whether each of them is Ready. */
export class BenchProfiles {
  readonly #api: ApiClient;
  readonly #aws: RemoteAdmin;
  readonly #size: ProfileCounts;
  /** Whether each existing AWSFargateProfile of the benchmark is Ready, by the name of the object. */
  readonly #ready = new Map<string, boolean>();
  #onChange: (() => void) | undefined;

  constructor(api: ApiClient, aws: RemoteAdmin, size: ProfileCounts) {
    this.#api = api;
    this.#aws = aws;
    this.#size = size;
  }

  get count(): number {
    return this.#size.clusters * this.#size.profilesEach;
  }

  /** Creates the Clusters and their control planes in Kubernetes, and their EKS clusters in the emulated AWS. */
  async createClusters(): Promise<void> {
    await inParallel(this.#clusters(), PARALLEL, async (name) => {
      const eksClusterName = `default_${name}-control-plane`;
      const { region = REGION } = this.#size;
      const { subnets } = await this.#aws.createCluster({ name: eksClusterName, region });
      await this.#api.post(CLUSTERS, clusterObject(name));
      const spec = { eksClusterName, region, network: networkOf(name, subnets) };
      const labels = { 'cluster.x-k8s.io/cluster-name': name };
      await this.#api.post(CONTROL_PLANES, controlPlaneObject(name, spec, { labels }));
      await this.#api.patch(`${controlPlanePath(name)}/status`, { status: { ready: true } });
    });
  }

  /** Creates all AWSFargateProfiles, cluster by cluster, as a client does that applies a directory of manifests. */
  async createProfiles(): Promise<void> {
    await inParallel(this.#names(), PARALLEL, async ({ cluster, name }) => {
      await this.#api.post(PROFILES, fargateProfile(name, { clusterName: cluster, selectors: [{ namespace: name }] }));
    });
  }

  async deleteProfiles(): Promise<void> {
    await inParallel(this.#names(), PARALLEL, async ({ name }) => {
      await this.#api.delete(`${PROFILES}/${name}`);
    });
  }

  /** Watches the AWSFargateProfiles, to know which of them are Ready, until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { items, metadata } = await this.#api.list(PROFILES);
      this.#ready.clear();
      for (const item of items) if (this.#isOurs(item)) this.#ready.set(item.metadata.name, isReady(item));
      this.#onChange?.();
      // The watch can end early: the API server closes watches of custom resources when their CustomResourceDefinition
      // changes.
      for await (const { type, object } of this.#api.watch(
        PROFILES,
        { resourceVersion: metadata.resourceVersion },
        signal,
      )) {
        if (type === 'ERROR') break;
        if (!this.#isOurs(object)) continue;
        if (type === 'DELETED') this.#ready.delete(object.metadata.name);
        else this.#ready.set(object.metadata.name, isReady(object));
        this.#onChange?.();
      }
    }
  }

  untilReady(limitMs: number): Promise<void> {
    return this.#until('Ready', limitMs, () => this.ready === this.count);
  }

  untilGone(limitMs: number): Promise<void> {
    return this.#until('gone', limitMs, () => this.#ready.size === 0);
  }

  /** The number of AWSFargateProfiles that are Ready. */
  get ready(): number {
    return [...this.#ready.values()].filter(Boolean).length;
  }

  async #until(what: string, limitMs: number, isDone: () => boolean): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const look = (): void => {
          if (isDone()) resolve();
        };
        timer = setTimeout(() => reject(new Error(this.#lateness(what, limitMs))), limitMs);
        this.#onChange = look;
        look();
      });
    } finally {
      clearTimeout(timer);
      this.#onChange = undefined;
    }
  }

  #lateness(what: string, limitMs: number): string {
    return `not all ${this.count} profiles are ${what} after ${limitMs} ms: ${this.ready} of ${this.#ready.size} are Ready`;
  }

  #names(): readonly { readonly cluster: string; readonly name: string }[] {
    return this.#clusters().flatMap((cluster) =>
      range(this.#size.profilesEach).map((index) => ({ cluster, name: `${cluster}-profile-${index}` })),
    );
  }

  #clusters(): readonly string[] {
    return range(this.#size.clusters).map((number) => `${this.#size.prefix}-${number}`);
  }

  #isOurs({ metadata }: RawObject): boolean {
    return metadata.name.startsWith(`${this.#size.prefix}-`);
  }
}

const range = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);

const isReady = ({ status, metadata }: RawObject): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;
