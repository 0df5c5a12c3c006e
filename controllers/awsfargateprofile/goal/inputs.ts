import * as E from 'fp-ts/lib/Either.js';
import type { AWSManagedControlPlane, Cluster } from '../../../api/external/index.ts';
import { type AWSFargateProfile, describeProblems } from '../../../api/v1beta2/index.ts';
import type { TypedListing, TypedLookup, TypedStoreReader } from '../../../pkg/kube/cache/typed-store.ts';
import type { AccountId, EksClusterName } from '../../../api/names.ts';
import type { IdentityRef } from '../../../pkg/cloud/index.ts';
import { type LimitExcess, type OperatorLimits, findEksClusterExcess } from '../../../pkg/fargate/operator-limits.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import { BY_CONTROL_PLANE, BY_EKS_CLUSTER, eksClusterOf } from '../../shared/caches.ts';
import type { JoinFacts } from '../../shared/control-plane/joined-control-plane.ts';
import {
  joinsControlPlane,
  needsAccountToJoin,
  controlPlaneReference,
} from '../../shared/control-plane/joined-control-plane.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { locationOf } from '../model/location.ts';

/**
 * The result of looking up an object in a cache. `unknown` means that the object may exist: the cache has not listed
 * its kind yet, the API server does not serve the kind, or the object cannot be decoded.
 */
export type InputLookup<A> =
  { readonly kind: 'found'; readonly object: A } | { readonly kind: 'absent' } | UnreadableInput;

/** `isInvalid`: the object was read, but cannot be decoded. `reason` then names the object and its wrong fields. */
export interface UnreadableInput {
  readonly kind: 'unknown';
  readonly reason: string;
  readonly isInvalid?: true;
}

/** An AWSFargateProfile with the Kubernetes objects that it depends on, read once at the beginning of a reconcile. */
export interface ReconcileInputs {
  readonly object: AWSFargateProfile;
  /**
   * The Cluster of the object. `none` means that the spec names no Cluster, and that no Cluster in the namespace
   * manages the EKS cluster that spec.eksCluster names.
   */
  readonly cluster: InputLookup<Cluster> | { readonly kind: 'none' };
  /**
   * Whether the namespace is being deleted, and the Cluster with it. Only a read from the API server sets this field.
   */
  readonly isNamespaceTerminating?: boolean;
  /**
   * The apiVersion in which the Cluster was read, for example `cluster.x-k8s.io/v1beta2`; empty if spec.clusterName is
   * absent or this Cluster was not found.
   */
  readonly clusterApiVersion: string;
  /**
   * The control plane that `spec.controlPlaneRef` of the Cluster names. For an object with spec.eksCluster, it is the
   * control plane that manages this EKS cluster.
   */
  readonly controlPlane: InputLookup<AWSManagedControlPlane>;
  /** The EKS cluster that spec.eksCluster names; `undefined` if spec.eksCluster is absent. */
  readonly eksCluster?: NamedEksCluster;
}

/**
 * The EKS cluster that spec.eksCluster of an object names, completed with the manager's defaults and checked against
 * the operator's limits.
 */
export interface NamedEksCluster {
  readonly name: EksClusterName;
  /**
   * The AWS region in the spec, or else the region of the object's existing profile, or else the manager's own region.
   * `undefined` if the manager has no region either.
   */
  readonly region: string | undefined;
  readonly identity: IdentityRef | undefined;
  /** How the EKS cluster violates the operator's limits; an empty list if the limits allow the EKS cluster. */
  readonly excess: readonly LimitExcess[];
  /**
   * The control planes in the namespace of the object whose EKS clusters have the name and region in spec.eksCluster,
   * and whose identity differs from the identity of the object; each with its AWS account. Such a control plane manages
   * the EKS cluster in spec.eksCluster only if the credentials of the object belong to the same account. A control
   * plane with the same identity has the same account, so it needs no comparison and is not listed. A control plane
   * whose account is not known is not listed either.
   */
  readonly inAccounts: readonly ControlPlaneInAccount[];
}

export interface ControlPlaneInAccount {
  readonly account: AccountId;
  readonly controlPlane: AWSManagedControlPlane;
  readonly cluster: Cluster | undefined;
}

/** The caches and settings from which a reconcile reads the Kubernetes objects that it needs. */
export interface InputCaches extends JoinFacts {
  readonly profiles: TypedStoreReader<AWSFargateProfile>;
  readonly clusters: TypedStoreReader<Cluster>;
  readonly controlPlanes: TypedStoreReader<AWSManagedControlPlane>;
  readonly limits: OperatorLimits;
}

/** Reads from the caches the Kubernetes objects that the reconcile of an AWSFargateProfile needs. */
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
 * Reads the inputs for an object whose spec names no Cluster. The spec names an EKS cluster instead, or the API server
 * has dropped spec.eksCluster under another CRD, which lacks this field.
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
 * Returns the AWSManagedControlPlane, in the namespace of the object, which manages the EKS cluster in spec.eksCluster.
 * `unknown` while the API server serves control planes but the cache has not listed them, and if a control plane that
 * names this EKS cluster cannot be decoded: its Cluster may be paused. `absent` without Cluster API Provider AWS.
 */
function joinedControlPlane(object: AWSFargateProfile, caches: InputCaches): InputLookup<AWSManagedControlPlane> {
  const listing = controlPlanesOf(object, caches);
  if (listing.kind === 'unknown') return listing;
  const joined = decodedOf(listing).find((controlPlane) => joinsControlPlane(object, controlPlane, caches));
  if (joined !== undefined) return { kind: 'found', object: joined };
  const unreadable = listing.entries.find(({ decoded }) => E.isLeft(decoded));
  return unreadable === undefined ? { kind: 'absent' } : toInputLookup({ kind: 'found', ...unreadable });
}

/** Returns the control planes in the namespace of the object whose EKS cluster has the name in spec.eksCluster. */
function controlPlanesOf(
  object: AWSFargateProfile,
  { controlPlanes }: Pick<InputCaches, 'controlPlanes'>,
): TypedListing<AWSManagedControlPlane> {
  const [key] = eksClusterOf(object);
  return key === undefined || !controlPlanes.served
    ? { kind: 'listed', entries: [] }
    : controlPlanes.byIndex(BY_EKS_CLUSTER, key);
}

/**
 * Returns the control planes whose EKS cluster has the name and region in spec.eksCluster, but whose identity differs
 * from the identity of the object. Only the AWS account then tells whether such a control plane manages the EKS cluster
 * in spec.eksCluster. The list is empty for an object whose EKS cluster the operator's limits do not allow, so that the
 * controller does not ask AWS for accounts, unless the object is being deleted and may have resources in AWS.
 */
export function controlPlanesToCompare(
  object: AWSFargateProfile,
  caches: InputCaches,
): readonly AWSManagedControlPlane[] {
  const isDeletedInAws = isDeleting(object) && locationOf(object).kind === 'known';
  const isRefused = !isDeletedInAws && (namedEksCluster(object, caches)?.excess.length ?? 0) > 0;
  return isRefused
    ? []
    : decodedOf(controlPlanesOf(object, caches)).filter((controlPlane) =>
        needsAccountToJoin(object, controlPlane, caches),
      );
}

/** Returns the control planes of {@link controlPlanesToCompare} whose AWS account is known, each with this account. */
const controlPlanesInAccounts = (object: AWSFargateProfile, caches: InputCaches): readonly ControlPlaneInAccount[] =>
  controlPlanesToCompare(object, caches).flatMap((controlPlane) => {
    const account = caches.accounts?.accountOf(controlPlane);
    const cluster = clusterNaming(controlPlane, caches);
    return account === undefined
      ? []
      : [{ account, controlPlane, cluster: cluster.kind === 'found' ? cluster.object : undefined }];
  });

/** Returns the Cluster of the control plane that an object with spec.eksCluster has joined. */
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

/** Returns the Cluster whose spec.controlPlaneRef names the control plane; `none` if there is no such Cluster. */
function clusterNaming(
  controlPlane: AWSManagedControlPlane,
  { clusters }: Pick<InputCaches, 'clusters'>,
): ReconcileInputs['cluster'] {
  const listing = clusters.byIndex(BY_CONTROL_PLANE, keyText(keyOf(controlPlane)));
  if (listing.kind === 'unknown') return listing;
  const [entry] = listing.entries;
  return entry === undefined ? { kind: 'none' } : toInputLookup({ kind: 'found', ...entry });
}

/**
 * Returns the key of the Cluster whose pause is a pause of the object too; `undefined` if there is no such Cluster.
 * Returns Left with the reason while the caches do not tell whether there is one.
 */
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
  // The default region is the region of the manager, which may change. A Fargate profile stays in its region, so the
  // recorded region of an existing profile comes before the default.
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

/**
 * Converts the result of a cache lookup. An object that cannot be decoded becomes `unknown`, not `absent`, so that the
 * controller does not treat it as deleted.
 */
export function toInputLookup<A>(lookup: TypedLookup<A>): InputLookup<A> {
  if (lookup.kind !== 'found') return lookup;
  const { object, decoded } = lookup;
  return E.isRight(decoded)
    ? { kind: 'found', object: decoded.right }
    : { kind: 'unknown', isInvalid: true, reason: `${keyText(keyOf(object))}: ${describeProblems(decoded.left)}` };
}
