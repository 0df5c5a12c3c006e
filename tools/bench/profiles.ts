import type { RemoteAdmin } from '../../test/aws/admin/remote.ts';
import type { AuthenticationMode } from '../../test/aws/model/resources.ts';
import type { ApiClient, RawObject } from '../../test/envtest/clients/api.ts';
import {
  clusterObject,
  controlPlaneObject,
  controlPlanePath,
  fargateProfile,
  networkOf,
  pathOf,
} from '../../test/world/manifests.ts';
import { REGION } from '../../test/world/world.ts';

const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2';
/** How many requests the benchmark sends to the API server in parallel while it prepares a measurement. */
const PREPARING = 20;
/**
 * How many requests the benchmark sends to the API server in parallel while it measures. The number is high, because
 * the part `burst` changes all its objects at the same time.
 */
const AT_ONCE = 200;

export interface ProfileCounts {
  /** The prefix of the names of the benchmark's clusters and profiles. */
  readonly prefix: string;
  readonly clusters: number;
  readonly profilesEach: number;
  /** The number of namespaces over which the clusters are spread; undefined: all of them are in `default`. */
  readonly namespaces?: number;
  /** The region of the EKS clusters; undefined: the default region of the emulated AWS. */
  readonly region?: string;
  /** The authentication mode of the EKS clusters; undefined: CONFIG_MAP. */
  readonly authenticationMode?: AuthenticationMode;
}

interface Place {
  readonly cluster: string;
  readonly namespace: string;
}

interface Named extends Place {
  readonly name: string;
}

/** The AWSFargateProfiles whose names begin with the same prefix, and whether each of them is Ready. */
export class BenchProfiles {
  readonly #api: ApiClient;
  readonly #aws: RemoteAdmin;
  readonly #size: ProfileCounts;
  /** Whether each AWSFargateProfile is Ready, by the name of the object. Deleted objects have no entry. */
  readonly #ready = new Map<string, boolean>();
  #readyCount = 0;
  #suffix = '';
  #onChange: (() => void) | undefined;

  constructor(api: ApiClient, aws: RemoteAdmin, size: ProfileCounts) {
    this.#api = api;
    this.#aws = aws;
    this.#size = size;
  }

  get count(): number {
    return this.#size.clusters * this.#size.profilesEach;
  }

  /**
   * Creates the namespaces, the Clusters and their control planes in Kubernetes, and their EKS clusters in the emulated
   * AWS. Then opens the connections for all parallel requests, so that no measurement includes the connection set-up.
   */
  async createClusters(): Promise<void> {
    const { region = REGION, authenticationMode = 'CONFIG_MAP', namespaces = 0 } = this.#size;
    await inParallel(range(namespaces), PREPARING, async (index) => {
      await this.#api.post('/api/v1/namespaces', { metadata: { name: this.#namespace(index) } });
    });
    await inParallel(this.#places(), PREPARING, async ({ cluster, namespace }) => {
      const eksClusterName = `${namespace}_${cluster}-control-plane`;
      const { subnets } = await this.#aws.createCluster({ name: eksClusterName, region, authenticationMode });
      await this.#api.post(
        pathIn(namespace, 'cluster.x-k8s.io/v1beta2', 'clusters'),
        clusterObject(cluster, namespace),
      );
      const spec = { eksClusterName, region, network: networkOf(cluster, subnets) };
      const metadata = { namespace, labels: { 'cluster.x-k8s.io/cluster-name': cluster } };
      await this.#api.post(
        pathIn(namespace, 'controlplane.cluster.x-k8s.io/v1beta2', 'awsmanagedcontrolplanes'),
        controlPlaneObject(cluster, spec, metadata),
      );
      await this.#api.patch(`${controlPlanePath(cluster, namespace)}/status`, { status: { ready: true } });
    });
    await Promise.all(range(Math.min(AT_ONCE, this.count)).map(() => this.#api.get('/version')));
  }

  /**
   * Creates all AWSFargateProfiles in parallel. Their names end in `suffix`, so that profiles that are created later
   * get new names.
   */
  async createProfiles(suffix = ''): Promise<void> {
    this.#suffix = suffix;
    await inParallel(this.#names(), AT_ONCE, async ({ name, cluster, namespace }) => {
      const spec = { clusterName: cluster, selectors: [{ namespace: name }] };
      await this.#api.post(
        pathIn(namespace, 'infrastructure.cluster.x-k8s.io/v1beta2', 'awsfargateprofiles'),
        fargateProfile(name, spec, { namespace }),
      );
    });
  }

  async deleteProfiles(): Promise<void> {
    await inParallel(this.#names(), AT_ONCE, async ({ name, namespace }) => {
      await this.#api.delete(pathOf(name, namespace));
    });
  }

  /**
   * Changes the tags of `count` profiles that are evenly spread over all profiles. A changed profile counts as not
   * Ready until its condition Ready is True for the new generation.
   */
  async changeTags(count: number): Promise<void> {
    const names = this.#names();
    const changed = range(count).flatMap((index) => names[Math.floor((index * names.length) / count)] ?? []);
    for (const { name } of changed) this.#set(name, false);
    await inParallel(changed, AT_ONCE, async ({ name, namespace }) => {
      const patch = { spec: { additionalTags: { changed: 'by-the-bench' } } };
      await this.#api.patch(pathOf(name, namespace), patch, { fieldValidation: 'Strict' });
    });
  }

  /** Watches the AWSFargateProfiles, to know which of them are Ready, until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const path = `${PROFILES}/awsfargateprofiles`;
    while (!signal.aborted) {
      const { items, metadata } = await this.#api.list(path);
      this.#ready.clear();
      this.#readyCount = 0;
      for (const item of items) if (this.#isOurs(item)) this.#set(item.metadata.name, isReady(item));
      this.#onChange?.();
      // The watch can end early: the API server closes watches of custom resources when their CustomResourceDefinition
      // changes.
      for await (const { type, object } of this.#api.watch(
        path,
        { resourceVersion: metadata.resourceVersion },
        signal,
      )) {
        if (type === 'ERROR') break;
        if (!this.#isOurs(object)) continue;
        this.#set(object.metadata.name, type === 'DELETED' ? undefined : isReady(object));
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
    return this.#readyCount;
  }

  /** Records whether an object is Ready. `isReadyNow` is undefined for an object that no longer exists. */
  #set(name: string, isReadyNow: boolean | undefined): void {
    this.#readyCount += Number(isReadyNow === true) - Number(this.#ready.get(name) === true);
    if (isReadyNow === undefined) this.#ready.delete(name);
    else this.#ready.set(name, isReadyNow);
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

  #names(): readonly Named[] {
    return this.#places().flatMap((place) =>
      range(this.#size.profilesEach).map((index) => ({
        ...place,
        name: `${place.cluster}-profile-${index}${this.#suffix}`,
      })),
    );
  }

  #places(): readonly Place[] {
    const { prefix, clusters, namespaces } = this.#size;
    return range(clusters).map((number) => ({
      cluster: `${prefix}-${number}`,
      namespace: namespaces === undefined ? 'default' : this.#namespace(number % namespaces),
    }));
  }

  #namespace(index: number): string {
    return `${this.#size.prefix}-tenant-${index}`;
  }

  #isOurs({ metadata }: RawObject): boolean {
    return metadata.name.startsWith(`${this.#size.prefix}-`);
  }
}

/** Returns the number of clusters multiplied by the user's scale of the benchmark, at least 1. */
export const scaled = (clusters: number, { scale }: { readonly scale: number }): number =>
  Math.max(1, Math.round(clusters * scale));

const range = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);

const pathIn = (namespace: string, groupVersion: string, plural: string): string =>
  `/apis/${groupVersion}/namespaces/${namespace}/${plural}`;

/** Reports whether the condition Ready is True for the current generation, and the object is not being deleted. */
const isReady = ({ status, metadata }: RawObject): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.some(
    ({ type, status: value, observedGeneration }) =>
      type === 'Ready' && value === 'True' && observedGeneration === metadata.generation,
  ) === true;

/** Runs a task for each item, at most `width` tasks at the same time. */
async function inParallel<A>(items: readonly A[], width: number, task: (item: A) => Promise<void>): Promise<void> {
  const rest = items.values();
  const work = async (): Promise<void> => {
    for (const item of rest) await task(item);
  };
  await Promise.all(Array.from({ length: width }, work));
}
