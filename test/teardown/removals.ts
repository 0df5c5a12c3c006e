import type { RawObject, RawWatchEvent } from '../envtest/clients/api.ts';
import { eventually } from '../support/eventually.ts';
import { CONTROL_PLANE_FINALIZER } from '../world/cluster-api/cluster-teardown.ts';
import type { ManagedCluster } from '../world/cluster-api/managed-cluster.ts';
import type { World } from '../world/world.ts';

/** The removal of an object from the API server, or of a finalizer from an object. */
export interface Removal {
  /**
   * The resourceVersion of the object in the watch event of this removal. Resource versions of objects of different
   * kinds can be compared, because one etcd with one revision counter stores all kinds.
   */
  readonly version: number;
  /** When the test received the watch event of the removal, in milliseconds since the epoch. */
  readonly at: number;
}

/** The removals so far in the teardown of one Cluster. */
export interface Removals {
  /** The removed AWSFargateProfiles, by name. */
  readonly profiles: ReadonlyMap<string, Removal>;
  /** The first removal of the manager's finalizer from the control plane of the Cluster. */
  readonly finalizer?: Removal;
  readonly cluster?: Removal;
}

/** A watch event that the test received from the API server. */
export interface ReceivedEvent {
  readonly resource: string;
  /** When the test received the watch event, in milliseconds since the epoch. */
  readonly at: number;
  readonly type: RawWatchEvent['type'];
  readonly object: RawObject;
}

const WATCHED: Readonly<Record<string, string>> = {
  awsfargateprofiles: '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles',
  awsmanagedcontrolplanes: '/apis/controlplane.cluster.x-k8s.io/v1beta2/awsmanagedcontrolplanes',
  clusters: '/apis/cluster.x-k8s.io/v1beta2/clusters',
};

/**
 * Finds in the watch events the removals in the teardown of one Cluster: of its AWSFargateProfiles, of the manager's
 * finalizer on its control plane, and of the Cluster itself.
 */
export function removalsIn(
  { name, namespace }: Pick<ManagedCluster, 'name' | 'namespace'>,
  events: readonly ReceivedEvent[],
): Removals {
  const of = (resource: string, isIt: (object: RawObject) => boolean): readonly ReceivedEvent[] =>
    events.filter(
      (each) => each.resource === resource && each.object.metadata.namespace === namespace && isIt(each.object),
    );
  const named =
    (wanted: string) =>
    ({ metadata }: RawObject): boolean =>
      metadata.name === wanted;
  const profiles = of('awsfargateprofiles', ({ spec }) => spec?.['clusterName'] === name).filter(isDeleted);
  const finalizerRemoval = firstFinalizerRemoval(of('awsmanagedcontrolplanes', named(`${name}-control-plane`)));
  const cluster = of('clusters', named(name)).find(isDeleted);
  return {
    profiles: new Map(profiles.map((each) => [each.object.metadata.name, removalIn(each)])),
    ...(finalizerRemoval && { finalizer: removalIn(finalizerRemoval) }),
    ...(cluster && { cluster: removalIn(cluster) }),
  };
}

/**
 * Returns the first watch event by which the control plane lost the manager's finalizer. The manager can add this
 * finalizer again later.
 */
function firstFinalizerRemoval(versions: readonly ReceivedEvent[]): ReceivedEvent | undefined {
  const begin = versions.findIndex(({ object }) => hasFinalizer(object));
  return begin < 0 ? undefined : versions.slice(begin).find((each) => isDeleted(each) || !hasFinalizer(each.object));
}

const isDeleted = ({ type }: ReceivedEvent): boolean => type === 'DELETED';
const hasFinalizer = ({ metadata }: RawObject): boolean =>
  metadata.finalizers?.includes(CONTROL_PLANE_FINALIZER) === true;
const removalIn = ({ at, object }: ReceivedEvent): Removal => ({
  at,
  version: Number(object.metadata.resourceVersion),
});

/** Watches the AWSFargateProfiles, control planes and Clusters, and collects the watch events. */
export class RemovalWatch {
  readonly #events: ReceivedEvent[] = [];
  readonly #stopping = new AbortController();
  readonly #watching: readonly Promise<void>[];

  constructor({ controlPlane: { api } }: Pick<World, 'controlPlane'>) {
    this.#watching = Object.entries(WATCHED).map(async ([resource, path]) => {
      for await (const { type, object } of api.watch(path, {}, this.#stopping.signal)) {
        this.#events.push({ resource, type, object, at: Date.now() });
      }
    });
    // A failed watch must not be an unhandled rejection. `untilComplete` then times out, and `stop` rejects with the
    // error of the watch.
    for (const each of this.#watching) each.catch(() => undefined);
  }

  /**
   * Waits until watch events have shown the removal of the Cluster, of the manager's finalizer on its control plane,
   * and of the given number of AWSFargateProfiles.
   */
  async untilComplete(cluster: ManagedCluster, profiles: number): Promise<Removals> {
    return eventually(
      () => {
        const removals = removalsIn(cluster, this.#events);
        return (
          removals.profiles.size === profiles &&
          removals.finalizer !== undefined &&
          removals.cluster !== undefined &&
          removals
        );
      },
      { what: `the removal of Cluster ${cluster.name} in the watches` },
    );
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#watching);
  }
}
