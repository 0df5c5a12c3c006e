import { isRight, map } from 'fp-ts/lib/Either.js';
import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import {
  CLUSTER_GROUP,
  CLUSTER_KIND,
  CLUSTER_PLURAL,
  CLUSTER_VERSIONS,
  CONTROL_PLANE_GROUP,
  CONTROL_PLANE_PLURAL,
  CONTROL_PLANE_VERSION,
  decodeAWSManagedControlPlane,
  decodeCluster,
} from '../../api/external/index.ts';
import { fieldAt, textAt } from '../../api/record.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import {
  CLUSTER_NAME_LABEL,
  GROUP,
  PLURAL,
  VERSION,
  WATCH_FILTER_LABEL,
  decodeAWSFargateProfile,
} from '../../api/v1beta2/index.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { Random } from '../../pkg/env/random.ts';
import { defaultEksClusterName } from '../../pkg/fargate/names.ts';
import { findServed } from '../../pkg/kube/discovery.ts';
import { keyText } from '../../pkg/kube/object-key.ts';
import type { ReflectorOptions } from '../../pkg/kube/cache/reflector.ts';
import { Reflector } from '../../pkg/kube/cache/reflector.ts';
import type { IndexFunc } from '../../pkg/kube/cache/store.ts';
import { Store } from '../../pkg/kube/cache/store.ts';
import type { Decoded } from '../../pkg/kube/cache/typed-store.ts';
import { TypedStore } from '../../pkg/kube/cache/typed-store.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
import type { Runnable } from '../../pkg/runtime/runnable.ts';
import { roleNameOf } from './profile-names.ts';

/** The cache index that finds AWSFargateProfiles by the `namespace/name` of their Cluster. */
export const BY_CLUSTER = 'cluster';
/**
 * The cache index that finds AWSFargateProfiles without spec.clusterName, and control planes, by their namespace and the
 * name of the EKS cluster. It may find objects of several EKS clusters, because two regions may have EKS clusters of
 * the same name.
 */
export const BY_EKS_CLUSTER = 'eksCluster';
/**
 * The cache index that finds AWSFargateProfiles with spec.clusterName by their namespace and the name of the EKS cluster
 * that status records.
 */
export const BY_RECORDED_EKS_CLUSTER = 'recordedEksCluster';
/**
 * The cache index that finds AWSFargateProfiles by their namespace and the IAM role that they ask for, in lower case. So
 * the names of roles, some of which are hashes, are computed once for each version of an object.
 */
export const BY_ROLE = 'role';
/** The cache index that finds AWSFargateProfiles by their namespace. */
export const BY_NAMESPACE = 'namespace';
/** The cache index that finds Clusters by the `namespace/name` of their control plane. */
export const BY_CONTROL_PLANE = 'controlPlane';
/**
 * The cache index that finds control planes by the `namespace/name` of the Cluster that owns them. A control plane
 * stays in the index after its Cluster is gone.
 */
export const BY_OWNER = 'owner';

export interface CachesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The only namespace whose objects are cached; undefined if the objects of all namespaces are cached. */
  readonly namespace?: string;
  /**
   * The value of the label `cluster.x-k8s.io/watch-filter` that cached AWSFargateProfiles must have; undefined if all
   * AWSFargateProfiles are cached.
   */
  readonly watchFilter?: string;
}

/** The caches of Kubernetes objects, with each object decoded into its TypeScript type. */
export interface TypedCaches {
  readonly profiles: TypedStore<AWSFargateProfile>;
  readonly clusters: TypedStore<Cluster>;
  readonly controlPlanes: TypedStore<AWSManagedControlPlane>;
}

export interface Caches {
  readonly profiles: Store;
  readonly clusters: Store;
  readonly controlPlanes: Store;
  readonly typed: TypedCaches;
  /** Whether the AWSFargateProfiles of all namespaces and all watch filters are cached. */
  readonly hasAllProfiles: boolean;
  /** The API version in which Clusters are read; `undefined` while the API server serves no Clusters. */
  readonly clusterResource: () => Resource | undefined;
  readonly controlPlaneResource: () => Resource | undefined;
  readonly runnables: readonly Runnable[];
}

/** Returns the caches from which the controllers read Kubernetes objects. A reflector keeps each of them up to date. */
export function newCaches(options: CachesOptions): Caches {
  const { client } = options;
  const profiles = newStore(options, `${PLURAL}.${GROUP}`, {
    ...PROFILE_INDEXES,
    [BY_ROLE]: (object) => rolesOf(typed.profiles.decode(object)),
  });
  const clusters = newStore(options, `${CLUSTER_PLURAL}.${CLUSTER_GROUP}`, { [BY_CONTROL_PLANE]: controlPlaneOf });
  const controlPlanes = newStore(options, `${CONTROL_PLANE_PLURAL}.${CONTROL_PLANE_GROUP}`, {
    [BY_OWNER]: ownersOf,
    [BY_EKS_CLUSTER]: eksClusterOfControlPlane,
  });
  const typed = newTypedCaches({ profiles, clusters, controlPlanes });
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
    typed,
    hasAllProfiles: options.namespace === undefined && options.watchFilter === undefined,
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

export const newTypedCaches = ({
  profiles,
  clusters,
  controlPlanes,
}: Pick<Caches, 'profiles' | 'clusters' | 'controlPlanes'>): TypedCaches => ({
  profiles: new TypedStore(profiles, decodeAWSFargateProfile),
  clusters: new TypedStore(clusters, decodeCluster),
  controlPlanes: new TypedStore(controlPlanes, decodeNamedControlPlane),
});

/** Decodes a control plane with the name of its EKS cluster, which may be a hash, so that it is computed once. */
const decodeNamedControlPlane = (object: KubeObject): Decoded<AWSManagedControlPlane> =>
  map((decoded: AWSManagedControlPlane): AWSManagedControlPlane => {
    const { name, namespace } = decoded.metadata;
    return { ...decoded, eksClusterName: decoded.eksClusterName ?? defaultEksClusterName(name, namespace) };
  })(decodeAWSManagedControlPlane(object));

function newStore({ logger }: CachesOptions, name: string, indexes: Readonly<Record<string, IndexFunc>>): Store {
  return new Store({ name, logger, indexes });
}

interface CacheOptions extends ReflectorOptions {
  /** Whether the controllers start only after this cache has listed its objects. */
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
    currentProblem: () => reflector.currentProblem(),
    outage: () => reflector.outage(),
    outdatedFor: () => reflector.outdatedFor(),
  };
}

/** The fields of an AWSFargateProfile that name its cluster. */
interface NamingCluster {
  readonly metadata: { readonly namespace?: string };
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** Returns the value of an AWSFargateProfile in the index `BY_CLUSTER`: the key of the Cluster that its spec names. */
export const clusterOf = (object: NamingCluster): readonly string[] =>
  keysIn(object, textAt(object.spec, 'clusterName'));

/**
 * Returns the value of an AWSFargateProfile in the index `BY_EKS_CLUSTER`: its namespace and the name of the EKS cluster
 * in spec.eksCluster. If the API server has dropped this field under another CRD, status has the name.
 */
export const eksClusterOf = (object: NamingCluster): readonly string[] => {
  const name = textAt(fieldAt(object.spec, 'eksCluster'), 'name') ?? textAt(object.status, 'eksClusterName');
  return clusterOf(object).length > 0 ? [] : keysIn(object, name);
};

/** Returns the value of an AWSFargateProfile in the index `BY_RECORDED_EKS_CLUSTER`. */
const recordedEksClusterOf = (object: NamingCluster): readonly string[] =>
  clusterOf(object).length > 0 ? keysIn(object, textAt(object.status, 'eksClusterName')) : [];

const keysIn = ({ metadata }: NamingCluster, name: string | undefined): readonly string[] =>
  name === undefined ? [] : [keyText({ namespace: metadata.namespace ?? '', name })];

/** The indexes of the cache of AWSFargateProfiles that need no decoded object. */
export const PROFILE_INDEXES = {
  [BY_CLUSTER]: clusterOf,
  [BY_EKS_CLUSTER]: eksClusterOf,
  [BY_RECORDED_EKS_CLUSTER]: recordedEksClusterOf,
  [BY_NAMESPACE]: ({ metadata }: KubeObject): readonly string[] => [metadata.namespace ?? ''],
};

/** Returns the value of an AWSFargateProfile in the index `BY_ROLE`; none if it asks for no role of the controller. */
export function rolesOf(decoded: Decoded<AWSFargateProfile>): readonly string[] {
  const name = isRight(decoded) ? roleNameOf(decoded.right)?.toLowerCase() : undefined;
  return name === undefined || !isRight(decoded)
    ? []
    : [keyText({ namespace: decoded.right.metadata.namespace, name })];
}

/**
 * Returns the value of a control plane in the index `BY_EKS_CLUSTER`: its namespace and the name of its EKS cluster.
 */
export const eksClusterOfControlPlane = ({ metadata, spec }: KubeObject): readonly string[] => {
  const { namespace = '' } = metadata;
  const name = textAt(spec, 'eksClusterName') ?? defaultEksClusterName(metadata.name, namespace);
  return [keyText({ namespace, name })];
};

/**
 * The name of a cache index, and the value in this index under which the cache finds all AWSFargateProfiles of one
 * cluster.
 */
export interface ClusterIndex {
  readonly index: typeof BY_CLUSTER | typeof BY_EKS_CLUSTER | typeof BY_RECORDED_EKS_CLUSTER;
  readonly value: string;
}

/**
 * Returns the index and the value under which the cache finds this AWSFargateProfile and the others of its cluster;
 * `undefined` if its spec names no cluster.
 */
export function clusterIndexOf(object: NamingCluster): ClusterIndex | undefined {
  const [cluster] = clusterOf(object);
  if (cluster !== undefined) return { index: BY_CLUSTER, value: cluster };
  const [eksCluster] = eksClusterOf(object);
  return eksCluster === undefined ? undefined : { index: BY_EKS_CLUSTER, value: eksCluster };
}

/**
 * Returns the indexes and values under which the cache finds the AWSFargateProfiles of the same EKS cluster, whether they
 * name a Cluster or an EKS cluster.
 */
export function siblingIndexesOf(object: NamingCluster): readonly ClusterIndex[] {
  const byClusterName = clusterOf(object);
  const values = byClusterName.length > 0 ? recordedEksClusterOf(object) : eksClusterOf(object);
  return [
    ...byClusterName.map((value) => ({ index: BY_CLUSTER, value }) as const),
    ...values.map((value) => ({ index: BY_EKS_CLUSTER, value }) as const),
    ...(byClusterName.length > 0 ? [] : values.map((value) => ({ index: BY_RECORDED_EKS_CLUSTER, value }) as const)),
  ];
}

/**
 * Returns the values of a control plane in the index `BY_OWNER`: the keys of the Clusters that own it. Owner references
 * name the owners. The label `cluster.x-k8s.io/cluster-name` also names an owner, because the owner reference is set
 * later.
 */
export const ownersOf = ({ metadata }: KubeObject): readonly string[] => {
  const { namespace = '', ownerReferences = [], labels = {} } = metadata;
  const owners = ownerReferences
    .filter(({ kind, apiVersion }) => kind === CLUSTER_KIND && apiVersion.startsWith(`${CLUSTER_GROUP}/`))
    .map(({ name }) => name);
  const label = labels[CLUSTER_NAME_LABEL];
  return [...new Set([...owners, ...(label === undefined ? [] : [label])])].map((name) => keyText({ namespace, name }));
};

/**
 * Returns the value of a Cluster in the index `BY_CONTROL_PLANE`: the key of its control plane, which must be in the
 * same namespace.
 */
export const controlPlaneOf = ({ metadata, spec }: KubeObject): readonly string[] => {
  const reference = fieldAt(spec, 'controlPlaneRef');
  const name = fieldAt(reference, 'name');
  const { namespace } = metadata;
  const isElsewhere = (textAt(reference, 'namespace') ?? namespace) !== namespace;
  return typeof name === 'string' && namespace !== undefined && !isElsewhere ? [keyText({ namespace, name })] : [];
};
