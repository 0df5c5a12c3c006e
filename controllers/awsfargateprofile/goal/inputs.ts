import * as E from 'fp-ts/lib/Either.js';
import type { Decoded, TypedListing, TypedLookup, TypedStoreReader, Unreadable } from 'controller-runtime/cache';
import {
  keyOf,
  keyText,
  type KubeClient,
  type KubeObject,
  type ObjectKey,
  type Resource,
} from 'controller-runtime/client';
import type { ReconcileContext } from 'controller-runtime/controller';
import {
  type AWSManagedControlPlane,
  type Cluster,
  CONTROL_PLANE_GROUP,
  CONTROL_PLANE_PLURAL,
  decodeAWSManagedControlPlane,
  decodeCluster,
} from '../../../api/external/index.ts';
import { type AWSFargateProfile, describeProblems } from '../../../api/v1beta2/index.ts';
import type { AccountId, EksClusterName } from '../../../api/names.ts';
import type { IdentityRef } from '../../../pkg/cloud/index.ts';
import { type LimitExcess, type OperatorLimits, findEksClusterExcess } from '../../../pkg/fargate/operator-limits.ts';
import { BY_EKS_CLUSTER, eksClusterOf, mayBePaused, referrersOf } from '../../shared/caches.ts';
import {
  type JoinFacts,
  joinsControlPlane,
  needsAccountToJoin,
  controlPlaneReference,
} from '../../shared/control-plane/joined-control-plane.ts';
import { isDeleting, isRetained } from '../../shared/object-state.ts';
import { locationOf } from '../../shared/record.ts';
import type { ControlPlaneAccounts } from '../../shared/control-plane/control-plane-accounts.ts';
import { NAMESPACES } from '../../shared/live-profiles.ts';

/** `unknown` means that the object may exist: its kind is not cached or served, or the object cannot be decoded. */
export type InputLookup<A> =
  { readonly kind: 'found'; readonly object: A } | { readonly kind: 'absent' } | UnreadableInput;

/** `isInvalid` means that the object cannot be decoded. `reason` then contains its name and its wrong fields. */
export interface UnreadableInput extends Unreadable {
  readonly kind: 'unknown';
  readonly isInvalid?: true;
}

export interface ReconcileInputs {
  readonly object: AWSFargateProfile;
  /** `none`: spec.clusterName is not set, and no Cluster in the namespace manages the cluster in spec.eksCluster. */
  readonly cluster: InputLookup<Cluster> | { readonly kind: 'none' };
  /** Set only by a read from the API server. */
  readonly isNamespaceTerminating?: boolean;
  /** Such as `cluster.x-k8s.io/v1beta2`. Empty without spec.clusterName or if the Cluster was not found. */
  readonly clusterApiVersion: string;
  /** The control plane that belongs to the Cluster, or that manages the EKS cluster in spec.eksCluster. */
  readonly controlPlane: InputLookup<AWSManagedControlPlane>;
  readonly eksCluster?: NamedEksCluster;
}

/** spec.eksCluster with the manager's defaults, checked against the operator's limits. */
export interface NamedEksCluster {
  readonly name: EksClusterName;
  /** The region in the spec, else the existing profile's region, else the manager's own. */
  readonly region: string | undefined;
  readonly identity: IdentityRef | undefined;
  readonly excess: readonly LimitExcess[];
  /**
   * Control planes in the namespace whose EKS cluster has this name and region, and whose identity differs from the
   * object's. Such a control plane manages this EKS cluster only if the object's credentials belong to the same
   * account. Control planes in unknown accounts are missing.
   */
  readonly inAccounts: readonly ControlPlaneInAccount[];
}

export interface ControlPlaneInAccount {
  readonly account: AccountId;
  readonly controlPlane: AWSManagedControlPlane;
  readonly cluster: Cluster | undefined;
}

export interface InputCaches extends JoinFacts {
  readonly profiles: TypedStoreReader<AWSFargateProfile>;
  readonly clusters: TypedStoreReader<Cluster>;
  readonly controlPlanes: TypedStoreReader<AWSManagedControlPlane>;
  readonly limits: OperatorLimits;
}

export function readInputs(object: AWSFargateProfile, caches: InputCaches): ReconcileInputs {
  const { metadata, spec } = object;
  if (spec.clusterName === undefined) {
    return { object, ...withoutCluster(object, caches) };
  }
  const lookup = caches.clusters.lookup({ namespace: metadata.namespace, name: spec.clusterName });
  const cluster = toInputLookup(lookup);
  return {
    object,
    cluster,
    clusterApiVersion: lookup.kind === 'found' ? lookup.object.apiVersion : '',
    controlPlane: readControlPlane(cluster, caches.controlPlanes),
  };
}

/**
 * Reads the inputs of an object without spec.clusterName. spec.eksCluster can be missing too, because the API server
 * may have dropped the field under another provider's CRD.
 */
function withoutCluster(
  object: AWSFargateProfile,
  caches: InputCaches,
): Pick<ReconcileInputs, 'cluster' | 'clusterApiVersion' | 'controlPlane' | 'eksCluster'> {
  const eksCluster = namedEksCluster(object, caches);
  const controlPlane = joinedControlPlane(object, caches);
  return {
    cluster: clusterOfJoined(controlPlane, caches),
    clusterApiVersion: '',
    controlPlane,
    ...(eksCluster && { eksCluster: { ...eksCluster, inAccounts: controlPlanesInAccounts(object, caches) } }),
  };
}

/**
 * Finds the control plane that manages the EKS cluster in spec.eksCluster. Returns `unknown` if that control plane
 * cannot be decoded: its Cluster may be paused, so nothing may change in AWS.
 */
function joinedControlPlane(object: AWSFargateProfile, caches: InputCaches): InputLookup<AWSManagedControlPlane> {
  const listing = controlPlanesOf(object, caches);
  if (listing.kind === 'unknown') return listing;
  const joined = decodedOf(listing).find((controlPlane) => joinsControlPlane(object, controlPlane, caches));
  if (joined !== undefined) return { kind: 'found', object: joined };
  const unreadable = listing.entries.find(({ decoded }) => E.isLeft(decoded));
  return unreadable === undefined ? { kind: 'absent' } : toInputLookup({ kind: 'found', ...unreadable });
}

function controlPlanesOf(
  object: AWSFargateProfile,
  { clusters, controlPlanes }: Pick<InputCaches, 'clusters' | 'controlPlanes'>,
): TypedListing<AWSManagedControlPlane> {
  const [key] = eksClusterOf(object);
  if (key === undefined) return { kind: 'listed', entries: [] };
  return controlPlanes.served ? controlPlanes.byIndex(BY_EKS_CLUSTER, key) : withoutControlPlanes(object, clusters);
}

/**
 * Without Cluster API Provider AWS there are no control planes. But if a Cluster in the namespace refers to one, that
 * Cluster may be paused, or deleted together with the object. Only an API server that serves control planes shows this,
 * so the result is then `unknown`.
 */
function withoutControlPlanes(
  { metadata }: AWSFargateProfile,
  clusters: InputCaches['clusters'],
): TypedListing<AWSManagedControlPlane> {
  const listing = clusters.list();
  const named =
    listing.kind !== 'listed'
      ? undefined
      : listing.entries.find(
          ({ object, decoded }) =>
            object.metadata.namespace === metadata.namespace &&
            E.isRight(decoded) &&
            controlPlaneReference(decoded.right) !== undefined,
        );
  return named === undefined
    ? { kind: 'listed', entries: [] }
    : {
        kind: 'unknown',
        reason: `the API server does not serve the control plane of Cluster ${keyText(keyOf(named.object))}`,
        obstacle: { kind: 'notServed', resource: `${CONTROL_PLANE_PLURAL}.${CONTROL_PLANE_GROUP}` },
      };
}

/**
 * Returns the control planes whose AWS accounts decide whether they manage the EKS cluster in spec.eksCluster. If the
 * operator's limits do not allow the EKS cluster, AWS is not asked about accounts, unless the object is being deleted
 * and may have resources there.
 */
function controlPlanesToCompare(object: AWSFargateProfile, caches: InputCaches): readonly AWSManagedControlPlane[] {
  const isDeletedInAws = isDeleting(object) && locationOf(object).kind === 'known';
  const isRefused = !isDeletedInAws && (namedEksCluster(object, caches)?.excess.length ?? 0) > 0;
  return isRefused
    ? []
    : decodedOf(controlPlanesOf(object, caches)).filter((controlPlane) =>
        needsAccountToJoin(object, controlPlane, caches),
      );
}

const controlPlanesInAccounts = (object: AWSFargateProfile, caches: InputCaches): readonly ControlPlaneInAccount[] =>
  controlPlanesToCompare(object, caches).flatMap((controlPlane) => {
    const account = caches.accounts?.accountOf(controlPlane);
    const cluster = clusterNaming(controlPlane, caches);
    return account === undefined
      ? []
      : [{ account, controlPlane, cluster: cluster.kind === 'found' ? cluster.object : undefined }];
  });

function clusterOfJoined(
  controlPlane: InputLookup<AWSManagedControlPlane>,
  caches: Pick<InputCaches, 'clusters'>,
): ReconcileInputs['cluster'] {
  switch (controlPlane.kind) {
    case 'found':
      return clusterNaming(controlPlane.object, caches);
    case 'absent':
      return { kind: 'none' };
    case 'unknown':
      return controlPlane;
  }
}

/** Returns the Cluster that refers to the control plane. If there are several, a paused Cluster comes first. */
function clusterNaming(
  controlPlane: AWSManagedControlPlane,
  { clusters }: Pick<InputCaches, 'clusters'>,
): ReconcileInputs['cluster'] {
  const listing = referrersOf(controlPlane, clusters);
  if (listing.kind === 'unknown') return listing;
  const entry = listing.entries.find(mayBePaused) ?? listing.entries[0];
  return entry === undefined ? { kind: 'none' } : toInputLookup({ kind: 'found', ...entry });
}

/** Returns the Cluster whose pause also pauses the object. A Left says why the caches do not show it. */
export function clusterKeyOf(object: AWSFargateProfile, caches: InputCaches): E.Either<string, ObjectKey | undefined> {
  const { metadata, spec } = object;
  if (spec.clusterName !== undefined) return E.right({ namespace: metadata.namespace, name: spec.clusterName });
  const cluster = clusterOfJoined(joinedControlPlane(object, caches), caches);
  if (cluster.kind === 'unknown') return E.left(cluster.reason);
  return E.right(cluster.kind === 'found' ? keyOf(cluster.object) : undefined);
}

const decodedOf = <A>(listing: TypedListing<A>): readonly A[] =>
  listing.kind === 'listed'
    ? listing.entries.flatMap(({ decoded }) => (E.isRight(decoded) ? [decoded.right] : []))
    : [];

function namedEksCluster(
  object: AWSFargateProfile,
  { limits, managerRegion }: Pick<InputCaches, 'limits' | 'managerRegion'>,
): Omit<NamedEksCluster, 'inAccounts'> | undefined {
  const { eksCluster } = object.spec;
  if (eksCluster === undefined) return undefined;
  const location = locationOf(object);
  // The manager's region may change, but a Fargate profile stays in its region.
  const region = eksCluster.region ?? (location.kind === 'known' ? location.region : managerRegion);
  const { name, identityRef } = eksCluster;
  const excess = region === undefined ? [] : findEksClusterExcess(limits, object.metadata.namespace, { region, name });
  return { name, region, identity: identityRef, excess };
}

function readControlPlane(
  cluster: InputLookup<Cluster>,
  controlPlanes: TypedStoreReader<AWSManagedControlPlane>,
): InputLookup<AWSManagedControlPlane> {
  if (cluster.kind !== 'found') return cluster;
  const reference = controlPlaneReference(cluster.object);
  return reference === undefined ? { kind: 'absent' } : toInputLookup(controlPlanes.lookup(reference));
}

/** An object that cannot be decoded must not count as deleted, so it is `unknown`. */
function toInputLookup<A>(lookup: TypedLookup<A>): InputLookup<A> {
  if (lookup.kind !== 'found') return lookup;
  const { object, decoded } = lookup;
  return E.isRight(decoded)
    ? { kind: 'found', object: decoded.right }
    : { kind: 'unknown', isInvalid: true, reason: `${keyText(keyOf(object))}: ${describeProblems(decoded.left)}` };
}

/**
 * Asks STS for the accounts of control planes whose EKS cluster has the name and region of spec.eksCluster. A control
 * plane in the object's account manages that EKS cluster, so deleting the control plane deletes the object too.
 */
export async function learnAccounts(
  object: AWSFargateProfile,
  options: Omit<InputCaches, 'accounts'> & { readonly accounts?: ControlPlaneAccounts },
  context: ReconcileContext,
): Promise<void> {
  const { accounts } = options;
  if (accounts === undefined) return;
  const controlPlanes = controlPlanesToCompare(object, options);
  await Promise.all(controlPlanes.map((controlPlane) => accounts.learn(controlPlane, context)));
}

export interface InputResources {
  readonly clusters: () => Resource | undefined;
  readonly controlPlanes: () => Resource | undefined;
}

export type ReadLiveInputs = (inputs: ReconcileInputs, signal: AbortSignal) => Promise<ReconcileInputs>;

/**
 * Asks the API server, because the caches may not show yet that the Cluster or control plane is paused or being
 * deleted. If the API server does not serve a kind, the cached object is used.
 */
export const newLiveInputs =
  (client: KubeClient, resources: InputResources): ReadLiveInputs =>
  async (inputs, signal) => {
    const clusters = resources.clusters();
    if (clusters === undefined) return inputs;
    const isNamespaceTerminating = isRetained(inputs.object) && (await isTerminating(client, inputs.object, signal));
    const cluster = await getCluster(client, clusters, inputs, signal);
    const controlPlane = await getControlPlane(client, resources.controlPlanes(), { ...inputs, cluster }, signal);
    return { ...inputs, isNamespaceTerminating, cluster, controlPlane };
  };

async function isTerminating(
  client: KubeClient,
  { metadata }: ReconcileInputs['object'],
  signal: AbortSignal,
): Promise<boolean> {
  const namespace = await client.get(NAMESPACES, { namespace: '', name: metadata.namespace }, { signal });
  return namespace !== undefined && isDeleting(namespace);
}

/** Gets the Cluster in spec.clusterName, or the one whose control plane manages spec.eksCluster. */
async function getCluster(
  client: KubeClient,
  resource: Resource,
  { object: { metadata, spec }, cluster }: ReconcileInputs,
  signal: AbortSignal,
): Promise<ReconcileInputs['cluster']> {
  if (spec.clusterName !== undefined)
    return getLive(client, resource, { namespace: metadata.namespace, name: spec.clusterName }, decodeCluster, signal);
  if (cluster.kind !== 'found') return cluster;
  const found = await getLive(client, resource, keyOf(cluster.object), decodeCluster, signal);
  return found.kind === 'absent' ? { kind: 'none' } : found;
}

async function getControlPlane(
  client: KubeClient,
  resource: Resource | undefined,
  { cluster, controlPlane }: Pick<ReconcileInputs, 'cluster' | 'controlPlane'>,
  signal: AbortSignal,
): Promise<InputLookup<AWSManagedControlPlane>> {
  if (cluster.kind === 'absent' || cluster.kind === 'unknown') return cluster;
  const joined = controlPlane.kind === 'found' ? keyOf(controlPlane.object) : undefined;
  const reference = cluster.kind === 'found' ? controlPlaneReference(cluster.object) : joined;
  if (reference === undefined) return { kind: 'absent' };
  return resource === undefined
    ? controlPlane
    : getLive(client, resource, reference, decodeAWSManagedControlPlane, signal);
}

async function getLive<A>(
  client: KubeClient,
  resource: Resource,
  { namespace, name }: ObjectKey,
  decode: (object: KubeObject) => Decoded<A>,
  signal: AbortSignal,
): Promise<InputLookup<A>> {
  const object = await client.get(resource, { namespace, name }, { signal });
  return object === undefined ? { kind: 'absent' } : toInputLookup({ kind: 'found', object, decoded: decode(object) });
}
