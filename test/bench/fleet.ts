import type { RemoteAdmin } from '../aws/remote.ts';
import type { Api, KubeObject } from '../envtest/api.ts';
import { REGION, clusterObject, controlPlanePath, fargateProfile } from '../world/world.ts';

const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/awsfargateprofiles';
const CLUSTERS = '/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters';
const CONTROL_PLANES = '/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/default/awsmanagedcontrolplanes';
/** How many requests we have under way at the API server: enough that making the objects is not what takes the time. */
const PARALLEL = 10;

export interface FleetSize {
  /** What the names of its clusters and profiles begin with. */
  readonly prefix: string;
  readonly clusters: number;
  readonly profilesEach: number;
}

/** The profiles of a run, and what the API server last told of each. */
export class Fleet {
  readonly #api: Api;
  readonly #aws: RemoteAdmin;
  readonly #size: FleetSize;
  /** Whether it is Ready, by name; what has gone is not here. */
  readonly #ready = new Map<string, boolean>();
  #onChange: (() => void) | undefined;

  constructor(api: Api, aws: RemoteAdmin, size: FleetSize) {
    this.#api = api;
    this.#aws = aws;
    this.#size = size;
  }

  get count(): number {
    return this.#size.clusters * this.#size.profilesEach;
  }

  /** Cluster, control plane and the EKS cluster in AWS: what is there before anybody wants a profile. */
  async createClusters(): Promise<void> {
    await inParallel(this.#clusters(), async (name) => {
      const eksClusterName = `default_${name}-control-plane`;
      const { subnets } = await this.#aws.createCluster({ name: eksClusterName, region: REGION });
      await this.#api.post(CLUSTERS, clusterObject(name));
      await this.#api.post(CONTROL_PLANES, {
        apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
        kind: 'AWSManagedControlPlane',
        metadata: { name: `${name}-control-plane`, labels: { 'cluster.x-k8s.io/cluster-name': name } },
        spec: {
          eksClusterName,
          region: REGION,
          network: {
            subnets: subnets.map(({ id, isPublic, availabilityZone }, index) => ({
              id: `${name}-subnet-${index}`,
              resourceID: id,
              isPublic,
              availabilityZone,
            })),
          },
        },
      });
      await this.#api.patch(`${controlPlanePath(name)}/status`, { status: { ready: true } });
    });
  }

  /** All profiles at once; the first of each cluster first, as nobody waits for those. */
  async createProfiles(): Promise<void> {
    await inParallel(this.#names(), async ({ cluster, name }) => {
      await this.#api.post(PROFILES, fargateProfile(name, { clusterName: cluster, selectors: [{ namespace: name }] }));
    });
  }

  async deleteProfiles(): Promise<void> {
    await inParallel(this.#names(), async ({ name }) => {
      await this.#api.delete(`${PROFILES}/${name}`);
    });
  }

  /** Keeps up with the API server until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { items, metadata } = await this.#api.list(PROFILES);
      this.#ready.clear();
      for (const item of items) if (this.#isOurs(item)) this.#ready.set(item.metadata.name, isReady(item));
      this.#onChange?.();
      // The API server ends watches of custom resources when it learns more of their definition.
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

  /** How many are Ready. */
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
    return range(this.#size.profilesEach).flatMap((index) =>
      this.#clusters().map((cluster) => ({ cluster, name: `${cluster}-profile-${index}` })),
    );
  }

  #clusters(): readonly string[] {
    return range(this.#size.clusters).map((number) => `${this.#size.prefix}-${number}`);
  }

  #isOurs({ metadata }: KubeObject): boolean {
    return metadata.name.startsWith(`${this.#size.prefix}-`);
  }
}

const range = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);

const isReady = ({ status, metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;

/** In the order of the list, some at a time. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}
