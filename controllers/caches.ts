import {
  CLUSTER_GROUP,
  CLUSTER_KIND,
  CLUSTER_PLURAL,
  CLUSTER_VERSIONS,
  CONTROL_PLANE_GROUP,
  CONTROL_PLANE_PLURAL,
  CONTROL_PLANE_VERSION,
} from '../api/external/index.ts';
import { fieldAt } from '../api/record.ts';
import { CLUSTER_NAME_LABEL, GROUP, PLURAL, VERSION, WATCH_FILTER_LABEL } from '../api/v1beta2/index.ts';
import type { Clock } from '../pkg/env/clock.ts';
import type { Logger } from '../pkg/env/logger.ts';
import type { Random } from '../pkg/env/random.ts';
import { findServed } from '../pkg/kube/discovery.ts';
import { keyText } from '../pkg/kube/paths.ts';
import type { ReflectorOptions } from '../pkg/kube/reflector.ts';
import { Reflector } from '../pkg/kube/reflector.ts';
import type { IndexBy } from '../pkg/kube/store.ts';
import { Store } from '../pkg/kube/store.ts';
import type { KubeClient, KubeObject, Resource } from '../pkg/kube/types.ts';
import type { Runnable } from '../pkg/runtime/types.ts';

/** AWSFargateProfiles by the Cluster they name: `namespace/name`. */
export const BY_CLUSTER = 'cluster';
/** Clusters by the control plane they name: `namespace/name`. */
export const BY_CONTROL_PLANE = 'controlPlane';
/** Control planes by the Cluster that owns them: `namespace/name`. It tells also when that Cluster is gone. */
export const BY_OWNER = 'owner';

export interface CachesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** Only AWSFargateProfiles whose label `cluster.x-k8s.io/watch-filter` has this value. Absent: all. */
  readonly watchFilter?: string;
}

export interface Caches {
  readonly profiles: Store;
  readonly clusters: Store;
  readonly controlPlanes: Store;
  /** In which version Clusters are read; `undefined` while they are not served. */
  readonly clusterResource: () => Resource | undefined;
  readonly controlPlaneResource: () => Resource | undefined;
  readonly runnables: readonly Runnable[];
}

/** What the controllers read from, kept up to date by a watch of each kind. */
export function newCaches(options: CachesOptions): Caches {
  const { client } = options;
  const profiles = newStore(options, `${PLURAL}.${GROUP}`, { [BY_CLUSTER]: clusterOf });
  const clusters = newStore(options, `${CLUSTER_PLURAL}.${CLUSTER_GROUP}`, { [BY_CONTROL_PLANE]: controlPlaneOf });
  const controlPlanes = newStore(options, `${CONTROL_PLANE_PLURAL}.${CONTROL_PLANE_GROUP}`, { [BY_OWNER]: ownersOf });
  let clusterResource: Resource | undefined;
  let controlPlaneResource: Resource | undefined;
  const served = (group: string, plural: string, versions: readonly string[]) => (signal: AbortSignal) =>
    findServed(client, { group, plural, versions }, signal);
  const findControlPlanes = served(CONTROL_PLANE_GROUP, CONTROL_PLANE_PLURAL, [CONTROL_PLANE_VERSION]);
  const findClusters = served(CLUSTER_GROUP, CLUSTER_PLURAL, CLUSTER_VERSIONS);
  const filter = options.watchFilter !== undefined && { labelSelector: `${WATCH_FILTER_LABEL}=${options.watchFilter}` };
  return {
    profiles,
    clusters,
    controlPlanes,
    clusterResource: () => clusterResource,
    controlPlaneResource: () => controlPlaneResource,
    runnables: [
      cache({ ...options, store: profiles, resolve: served(GROUP, PLURAL, [VERSION]), isNeeded: true, ...filter }),
      cache({
        ...options,
        store: clusters,
        resolve: async (signal) => (clusterResource = await findClusters(signal)),
        isNeeded: false,
      }),
      cache({
        ...options,
        store: controlPlanes,
        resolve: async (signal) => (controlPlaneResource = await findControlPlanes(signal)),
        isNeeded: false,
      }),
    ],
  };
}

function newStore({ logger }: CachesOptions, name: string, indexes: Readonly<Record<string, IndexBy>>): Store {
  return new Store({ name, logger, indexes });
}

interface CacheOptions extends ReflectorOptions {
  /** Whether there is nothing to do before it is filled; the others may come later. */
  readonly isNeeded: boolean;
}

function cache({ isNeeded, ...options }: CacheOptions): Runnable {
  const reflector = new Reflector(options);
  if (!isNeeded) return reflector;
  return {
    name: reflector.name,
    needsLeadership: reflector.needsLeadership,
    run: (signal) => reflector.run(signal),
    started: (signal) => options.store.whenSynced(signal),
    hindrance: () => reflector.hindrance(),
  };
}

/** The Cluster that an AWSFargateProfile names, as an index value. */
export const clusterOf = ({ metadata, spec }: KubeObject): readonly string[] => {
  const name = fieldAt(spec, 'clusterName');
  return typeof name === 'string' ? [keyText({ namespace: metadata.namespace ?? '', name })] : [];
};

/** The Clusters that own a control plane, by reference or, before Cluster API has set that, by label; as index values. */
export const ownersOf = ({ metadata }: KubeObject): readonly string[] => {
  const { namespace = '', ownerReferences = [], labels = {} } = metadata;
  const owners = ownerReferences
    .filter(({ kind, apiVersion }) => kind === CLUSTER_KIND && apiVersion.startsWith(`${CLUSTER_GROUP}/`))
    .map(({ name }) => name);
  const label = labels[CLUSTER_NAME_LABEL];
  return [...new Set([...owners, ...(label === undefined ? [] : [label])])].map((name) => keyText({ namespace, name }));
};

/** The control plane that a Cluster names, as an index value. */
export const controlPlaneOf = ({ metadata, spec }: KubeObject): readonly string[] => {
  const reference = fieldAt(spec, 'controlPlaneRef');
  const name = fieldAt(reference, 'name');
  const namespace = fieldAt(reference, 'namespace') ?? metadata.namespace;
  return typeof name === 'string' && typeof namespace === 'string' ? [keyText({ namespace, name })] : [];
};
