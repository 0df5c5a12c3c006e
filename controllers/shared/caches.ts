import { isLeft, isRight, map } from 'fp-ts/lib/Either.js';
import {
  type Decoded,
  type IndexFunc,
  Reflector,
  Store,
  type TypedEntry,
  type TypedListing,
  TypedStore,
  type TypedStoreReader,
} from 'controller-runtime/cache';
import { findServed, keyOf, keyText, type KubeClient, type KubeObject, type Resource } from 'controller-runtime/client';
import type { Clock, Random } from 'controller-runtime/env';
import { fieldAt, textAt } from 'controller-runtime/json';
import type { Logger } from 'controller-runtime/log';
import type { Runnable } from 'controller-runtime/manager';
import type { ObjectMeta } from 'controller-runtime/schema';
import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import {
  CLUSTER_GROUP,
  CLUSTER_KIND,
  CLUSTER_PLURAL,
  CLUSTER_VERSIONS,
  CONTROL_PLANE_GROUP,
  CONTROL_PLANE_PLURAL,
  CONTROL_PLANE_VERSION,
  controlPlaneRefOf,
  decodeAWSManagedControlPlane,
  decodeCluster,
} from '../../api/external/index.ts';
import type { RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import {
  CLUSTER_NAME_LABEL,
  GROUP,
  PLURAL,
  VERSION,
  WATCH_FILTER_LABEL,
  decodeAWSFargateProfile,
} from '../../api/v1beta2/index.ts';
import { defaultEksClusterName } from '../../pkg/fargate/names.ts';
import { GRANT } from './api-rejections.ts';
import { controlPlaneReference } from './control-plane/joined-control-plane.ts';
import { formatLocation, readRecord } from './record.ts';
import { usedRoleNamesOf } from './profile-names.ts';
import { turnOrderOf, wantsTurn } from './turn-order.ts';

/** By `namespace/name` of the Cluster. */
export const BY_CLUSTER = 'cluster';
/**
 * Control planes, and AWSFargateProfiles that refer to an EKS cluster (spec.eksCluster) instead of a Cluster. The key is
 * the namespace and the EKS cluster's name, which two EKS clusters in different regions can share.
 */
export const BY_EKS_CLUSTER = 'eksCluster';
/** AWSFargateProfiles with spec.clusterName, by namespace and name of the EKS cluster in status. */
const BY_RECORDED_EKS_CLUSTER = 'recordedEksCluster';
/** By namespace and used role, in lower case. The name, maybe a hash, is computed once per object version. */
export const BY_ROLE = 'role';
/** By account, region, and name of the EKS cluster that AWS has confirmed. */
export const BY_LOCATION = 'location';
/**
 * AWSFargateProfiles that want a turn to change a profile in EKS, which changes one per cluster at a time. Sorted by
 * {@link turnOrderOf}. The keys are {@link turnGroupOf} and, once AWS has confirmed the EKS cluster, also
 * {@link turnGroupOfLocation}.
 */
export const BY_TURN = 'turn';
export const BY_NAMESPACE = 'namespace';
export const BY_CONTROL_PLANE = 'controlPlane';
/** Control planes by `namespace/name` of their owning Cluster, even after that Cluster is gone. */
export const BY_OWNER = 'owner';

export interface CachesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** If undefined, all namespaces are cached and reconciled. */
  readonly namespace?: string;
  /**
   * The label that AWSFargateProfiles need to be cached, and objects to be reconciled. If undefined, they need none.
   */
  readonly watchFilter?: string;
}

interface TypedCaches {
  readonly profiles: TypedStore<AWSFargateProfile>;
  readonly clusters: TypedStore<Cluster>;
  readonly controlPlanes: TypedStore<AWSManagedControlPlane>;
}

export interface Caches {
  readonly profiles: Store;
  readonly clusters: Store;
  readonly controlPlanes: Store;
  readonly typed: TypedCaches;
  /** Whether the cache covers all namespaces and watch filters. */
  readonly hasAllProfiles: boolean;
  /** `undefined` while the API server serves no Clusters. */
  readonly clusterResource: () => Resource | undefined;
  readonly controlPlaneResource: () => Resource | undefined;
  readonly runnables: readonly Runnable[];
}

export function newCaches(options: CachesOptions): Caches {
  const { client, logger, watchFilter } = options;
  const stores = newStores(logger);
  const { profiles, clusters, controlPlanes } = stores;
  let clusterResource: Resource | undefined;
  let controlPlaneResource: Resource | undefined;
  const served = (group: string, plural: string, versions: readonly string[]) => (signal: AbortSignal) =>
    findServed(client, { group, plural, versions }, signal);
  const findControlPlanes = served(CONTROL_PLANE_GROUP, CONTROL_PLANE_PLURAL, [CONTROL_PLANE_VERSION]);
  const findClusters = served(CLUSTER_GROUP, CLUSTER_PLURAL, CLUSTER_VERSIONS);
  const shared = { ...options, grant: GRANT };
  const profileReflector = new Reflector({
    ...shared,
    store: profiles,
    resolve: served(GROUP, PLURAL, [VERSION]),
    ...(watchFilter !== undefined && { labelSelector: `${WATCH_FILTER_LABEL}=${watchFilter}` }),
  });
  // The controllers start only after this cache is filled.
  profileReflector.started = (signal) => profiles.whenSynced(signal);
  return {
    ...stores,
    hasAllProfiles: options.namespace === undefined && watchFilter === undefined,
    clusterResource: () => clusterResource,
    controlPlaneResource: () => controlPlaneResource,
    runnables: [
      profileReflector,
      new Reflector({
        ...shared,
        store: clusters,
        resolve: async (signal) => (clusterResource = await findClusters(signal)),
      }),
      new Reflector({
        ...shared,
        store: controlPlanes,
        resolve: async (signal) => (controlPlaneResource = await findControlPlanes(signal)),
      }),
    ],
  };
}

export function newStores(logger: Logger): Pick<Caches, 'profiles' | 'clusters' | 'controlPlanes' | 'typed'> {
  const newStore = (name: string, indexes: Readonly<Record<string, IndexFunc>>): Store =>
    new Store({ name, logger, indexes });
  const profiles = new Store({
    name: `${PLURAL}.${GROUP}`,
    logger,
    indexes: {
      ...PROFILE_INDEXES,
      [BY_ROLE]: (object) => rolesOf(typed.profiles.decode(object)),
      [BY_TURN]: (object) => turnGroupsOf(typed.profiles.decode(object)),
    },
    orders: { [BY_TURN]: turnOrderOf },
  });
  const clusters = newStore(`${CLUSTER_PLURAL}.${CLUSTER_GROUP}`, { [BY_CONTROL_PLANE]: controlPlaneOf });
  const controlPlanes = newStore(`${CONTROL_PLANE_PLURAL}.${CONTROL_PLANE_GROUP}`, {
    [BY_OWNER]: ownersOf,
    [BY_EKS_CLUSTER]: eksClusterOfControlPlane,
  });
  const typed = newTypedCaches({ profiles, clusters, controlPlanes });
  return { profiles, clusters, controlPlanes, typed };
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

/** Computes the default name of the EKS cluster once, when the object is decoded, because the name may be a hash. */
const decodeNamedControlPlane = (object: KubeObject): Decoded<AWSManagedControlPlane> =>
  map((decoded: AWSManagedControlPlane): AWSManagedControlPlane => {
    const { name, namespace } = decoded.metadata;
    return { ...decoded, eksClusterName: decoded.eksClusterName ?? defaultEksClusterName(name, namespace) };
  })(decodeAWSManagedControlPlane(object));

interface NamingCluster {
  readonly metadata: { readonly namespace?: string };
  readonly spec?: unknown;
  readonly status?: unknown;
}

export const clusterOf = (object: NamingCluster): readonly string[] =>
  keysIn(object, textAt(object.spec, 'clusterName'));

/** The API server may have dropped spec.eksCluster under another provider's CRD, so status is the fallback. */
export const eksClusterOf = (object: NamingCluster): readonly string[] => {
  const name = textAt(fieldAt(object.spec, 'eksCluster'), 'name') ?? textAt(object.status, 'eksClusterName');
  return clusterOf(object).length > 0 ? [] : keysIn(object, name);
};

const recordedEksClusterOf = (object: NamingCluster): readonly string[] =>
  clusterOf(object).length > 0 ? keysIn(object, textAt(object.status, 'eksClusterName')) : [];

const keysIn = ({ metadata }: NamingCluster, name: string | undefined): readonly string[] =>
  name === undefined ? [] : [keyText({ namespace: metadata.namespace ?? '', name })];

interface LocatedObject {
  readonly metadata: ObjectMeta;
  readonly status?: unknown;
}

/**
 * Returns the location in status or, if there is none, the one in the record. Neither exists until AWS has confirmed
 * the EKS cluster, so a tenant cannot find out about other tenants' objects just by naming their cluster. Any client
 * that can write an object can forge its record, so do not rely on a location from the record across namespaces.
 */
export function locationsOf({ metadata, status }: LocatedObject): readonly string[] {
  const confirmed = confirmedLocationsOf({ status });
  if (confirmed.length > 0) return confirmed;
  const read = readRecord({ metadata });
  return read.kind === 'recorded' && read.record.in.kind === 'known' ? [formatLocation(read.record.in)] : [];
}

function confirmedLocationsOf({ status }: Pick<LocatedObject, 'status'>): readonly string[] {
  const parts = ['account', 'region', 'eksClusterName'].map((field) => textAt(status, field));
  return parts.includes(undefined) ? [] : [parts.join('/')];
}

export const PROFILE_INDEXES = {
  [BY_LOCATION]: locationsOf,
  [BY_CLUSTER]: clusterOf,
  [BY_EKS_CLUSTER]: eksClusterOf,
  [BY_RECORDED_EKS_CLUSTER]: recordedEksClusterOf,
  [BY_NAMESPACE]: ({ metadata }: KubeObject): readonly string[] => [metadata.namespace ?? ''],
};

/** Returns the key of the object's role in {@link BY_ROLE}, or nothing if the controller does not manage the role. */
function rolesOf(decoded: Decoded<AWSFargateProfile>): readonly string[] {
  if (!isRight(decoded)) return [];
  const names = usedRoleNamesOf(decoded.right);
  return [...new Set(names.map((name) => roleKeyOf(decoded.right.metadata.namespace, name)))];
}

/** Returns the key of a role in {@link BY_ROLE}. IAM ignores case in names. */
export const roleKeyOf = (namespace: string, role: RoleName): string =>
  keyText({ namespace, name: role.toLowerCase() });

export const eksClusterOfControlPlane = ({ metadata, spec }: KubeObject): readonly string[] => {
  const { namespace = '' } = metadata;
  const name = textAt(spec, 'eksClusterName') ?? defaultEksClusterName(metadata.name, namespace);
  return [keyText({ namespace, name })];
};

/** An index, and the key in it that all AWSFargateProfiles of one cluster share. */
interface ClusterIndex {
  readonly index: typeof BY_CLUSTER | typeof BY_EKS_CLUSTER | typeof BY_RECORDED_EKS_CLUSTER;
  readonly value: string;
}

export function clusterIndexOf(object: NamingCluster): ClusterIndex | undefined {
  const [cluster] = clusterOf(object);
  if (cluster !== undefined) return { index: BY_CLUSTER, value: cluster };
  const [eksCluster] = eksClusterOf(object);
  return eksCluster === undefined ? undefined : { index: BY_EKS_CLUSTER, value: eksCluster };
}

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
 * Returns a key for the objects of one cluster before AWS has confirmed it. The key contains region and identity,
 * because EKS clusters in different regions or accounts can have the same name.
 */
export function turnGroupOf(object: Pick<AWSFargateProfile, 'metadata' | 'spec' | 'status'>): string | undefined {
  const cluster = clusterIndexOf(object);
  const { region, identityRef } = object.spec.eksCluster ?? {};
  return cluster && [cluster.index, cluster.value, region, identityRef?.kind, identityRef?.name].join(' ');
}

/** Returns a key for all objects of the EKS cluster at this location. Several Clusters and namespaces may share it. */
export const turnGroupOfLocation = (location: string): string => `${BY_LOCATION} ${location}`;

function turnGroupsOf(decoded: Decoded<AWSFargateProfile>): readonly string[] {
  if (!isRight(decoded) || !wantsTurn(decoded.right)) return [];
  const group = turnGroupOf(decoded.right);
  return [...(group === undefined ? [] : [group]), ...confirmedLocationsOf(decoded.right).map(turnGroupOfLocation)];
}

/** Also reads the label `cluster.x-k8s.io/cluster-name`, because objects can have it before their owner reference. */
export const ownersOf = ({ metadata }: KubeObject): readonly string[] => {
  const { namespace = '', ownerReferences = [], labels = {} } = metadata;
  const owners = ownerReferences
    .filter(({ kind, apiVersion }) => kind === CLUSTER_KIND && apiVersion.startsWith(`${CLUSTER_GROUP}/`))
    .map(({ name }) => name);
  const label = labels[CLUSTER_NAME_LABEL];
  return [...new Set([...owners, ...(label === undefined ? [] : [label])])].map((name) => keyText({ namespace, name }));
};

/** Returns nothing for a reference to another kind or namespace. */
export const controlPlaneOf = ({ metadata, spec }: KubeObject): readonly string[] => {
  const { namespace = '' } = metadata;
  const controlPlaneRef = controlPlaneRefOf(spec, { namespace });
  const reference = controlPlaneReference({ metadata: { namespace }, ...(controlPlaneRef && { controlPlaneRef }) });
  return reference === undefined ? [] : [keyText(reference)];
};

/** Lists the Clusters that refer to the control plane. Usually, there is only one. */
export const referrersOf = (
  controlPlane: Parameters<typeof keyOf>[0],
  clusters: Pick<TypedStoreReader<Cluster>, 'byIndex'>,
): TypedListing<Cluster> => clusters.byIndex(BY_CONTROL_PLANE, keyText(keyOf(controlPlane)));

/** A Cluster that cannot be decoded may be paused. */
export const mayBePaused = ({ decoded }: TypedEntry<Cluster>): boolean => isLeft(decoded) || decoded.right.paused;

/**
 * Returns the other objects of the cluster, whether they refer to it in spec.clusterName or in spec.eksCluster. Omits
 * objects that cannot be decoded.
 */
export function listSiblings(
  object: AWSFargateProfile,
  profiles: TypedStoreReader<AWSFargateProfile>,
): readonly AWSFargateProfile[] {
  const found = siblingIndexesOf(object).flatMap(({ index, value }) => {
    const listing = profiles.byIndex(index, value);
    return listing.kind === 'unknown' ? [] : listing.entries;
  });
  return found.flatMap(({ decoded }) =>
    isRight(decoded) && decoded.right.metadata.uid !== object.metadata.uid ? [decoded.right] : [],
  );
}
