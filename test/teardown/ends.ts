import type { KubeObject, WatchEvent } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import { GUARD } from '../world/cluster-teardown.ts';
import type { ManagedCluster } from '../world/managed-cluster.ts';
import type { World } from '../world/world.ts';

/** The moment at which something was no more. */
export interface End {
  /**
   * The resourceVersion of it. They are comparable for objects of one kind; here, where all are in one etcd, which counts its
   * changes, for those of different kinds too.
   */
  readonly version: number;
  /** When a watch told of it, in milliseconds since the epoch: at most as much later as that took. */
  readonly at: number;
}

/** What came to its end, and when; absent: it has not, as far as was told. */
export interface Ends {
  /** Of the objects, by name. */
  readonly profiles: ReadonlyMap<string, End>;
  /** Of the guard on the control plane. */
  readonly guard?: End;
  readonly cluster?: End;
}

/** One event of a watch. */
export interface Told {
  readonly resource: string;
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
  readonly type: WatchEvent['type'];
  readonly object: KubeObject;
}

const WATCHED: Readonly<Record<string, string>> = {
  awsfargateprofiles: '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles',
  awsmanagedcontrolplanes: '/apis/controlplane.cluster.x-k8s.io/v1beta2/awsmanagedcontrolplanes',
  clusters: '/apis/cluster.x-k8s.io/v1beta2/clusters',
};

/** What the watches told of one cluster and its objects. */
export function endsOf({ name, namespace }: Pick<ManagedCluster, 'name' | 'namespace'>, told: readonly Told[]): Ends {
  const of = (resource: string, isIt: (object: KubeObject) => boolean): readonly Told[] =>
    told.filter(
      (each) => each.resource === resource && each.object.metadata.namespace === namespace && isIt(each.object),
    );
  const named =
    (wanted: string) =>
    ({ metadata }: KubeObject): boolean =>
      metadata.name === wanted;
  const profiles = of('awsfargateprofiles', ({ spec }) => spec?.['clusterName'] === name).filter(isDeleted);
  const guard = endOfGuard(of('awsmanagedcontrolplanes', named(`${name}-control-plane`)));
  const cluster = of('clusters', named(name)).find(isDeleted);
  return {
    profiles: new Map(profiles.map((each) => [each.object.metadata.name, endIn(each)])),
    ...(guard && { guard: endIn(guard) }),
    ...(cluster && { cluster: endIn(cluster) }),
  };
}

/** It may be put on again: the first end counts. */
function endOfGuard(versions: readonly Told[]): Told | undefined {
  const begin = versions.findIndex(({ object }) => hasGuard(object));
  return begin < 0 ? undefined : versions.slice(begin).find((each) => isDeleted(each) || !hasGuard(each.object));
}

const isDeleted = ({ type }: Told): boolean => type === 'DELETED';
const hasGuard = ({ metadata }: KubeObject): boolean => metadata.finalizers?.includes(GUARD) === true;
const endIn = ({ at, object }: Told): End => ({ at, version: Number(object.metadata.resourceVersion) });

/** Hears from the API server of all that comes to its end, from now on. */
export class EndWatch {
  readonly #told: Told[] = [];
  readonly #stopping = new AbortController();
  readonly #watching: readonly Promise<void>[];

  constructor({ controlPlane: { api } }: Pick<World, 'controlPlane'>) {
    this.#watching = Object.entries(WATCHED).map(async ([resource, path]) => {
      for await (const { type, object } of api.watch(path, {}, this.#stopping.signal)) {
        this.#told.push({ resource, type, object, at: Date.now() });
      }
    });
    // A watch that breaks shows where it is missed: in the wait below and in `stop`.
    for (const each of this.#watching) each.catch(() => undefined);
  }

  /** Waits until the end of a cluster with so many profiles was told whole. */
  async of(cluster: ManagedCluster, profiles: number): Promise<Ends> {
    return eventually(
      () => {
        const ends = endsOf(cluster, this.#told);
        return ends.profiles.size === profiles && ends.guard !== undefined && ends.cluster !== undefined && ends;
      },
      { what: `the end of Cluster ${cluster.name} as watches tell it` },
    );
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#watching);
  }
}
