import * as E from 'fp-ts/lib/Either.js';
import type { AWSManagedControlPlane, Cluster } from '../../../api/external/index.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { describeProblems } from '../../../api/v1beta2/index.ts';
import type { TypedLookup, TypedStoreReader } from '../../../pkg/kube/cache/typed-store.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import { controlPlaneReference } from '../../shared/control-plane-reference.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { listSiblings } from '../../shared/siblings.ts';
import { roleNameOf } from '../model/names.ts';

/**
 * The result of looking up an object in a cache. `unknown`: the object may exist, but the cache has not listed its kind yet,
 * the kind is not served, or the object cannot be decoded.
 */
export type InputLookup<A> =
  | { readonly kind: 'found'; readonly object: A }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly reason: string };

/** An AWSFargateProfile with the Kubernetes objects that it depends on, read once at the beginning of a pass. */
export interface ReconcileInputs {
  readonly object: AWSFargateProfile;
  readonly cluster: InputLookup<Cluster>;
  /** The apiVersion in which the Cluster was read, for example `cluster.x-k8s.io/v1beta2`; empty if there is no Cluster. */
  readonly clusterApiVersion: string;
  /** The control plane that `spec.controlPlaneRef` of the Cluster names. */
  readonly controlPlane: InputLookup<AWSManagedControlPlane>;
  /** Other AWSFargateProfiles of the Cluster that name the same IAM role and are not being deleted. */
  readonly roleSharers: readonly AWSFargateProfile[];
}

/** The caches from which a pass reads its inputs. */
export interface InputCaches {
  readonly profiles: TypedStoreReader<AWSFargateProfile>;
  readonly clusters: TypedStoreReader<Cluster>;
  readonly controlPlanes: TypedStoreReader<AWSManagedControlPlane>;
}

/** Reads from the caches every Kubernetes object that a pass needs. */
export function readInputs(
  object: AWSFargateProfile,
  { profiles, clusters, controlPlanes }: InputCaches,
): ReconcileInputs {
  const { namespace } = object.metadata;
  const lookup = clusters.lookup({ namespace, name: object.spec.clusterName });
  const cluster = toInputLookup(lookup);
  return {
    object,
    cluster,
    clusterApiVersion: lookup.kind === 'found' ? lookup.object.apiVersion : '',
    controlPlane: readControlPlane(cluster, controlPlanes),
    roleSharers: roleSharersOf(object, profiles),
  };
}

/**
 * The other AWSFargateProfiles of the Cluster that name the same role and are not being deleted. IAM compares role names
 * without regard to case.
 */
function roleSharersOf(
  object: AWSFargateProfile,
  profiles: TypedStoreReader<AWSFargateProfile>,
): readonly AWSFargateProfile[] {
  const role = roleNameOf(object)?.toLowerCase();
  if (role === undefined) return [];
  return listSiblings(object, profiles).filter(
    (sibling) => !isDeleting(sibling) && roleNameOf(sibling)?.toLowerCase() === role,
  );
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
 * Converts the result of a lookup. An object that cannot be decoded becomes unknown, not absent, so that the pass
 * draws no conclusion from it.
 */
export function toInputLookup<A>(lookup: TypedLookup<A>): InputLookup<A> {
  if (lookup.kind !== 'found') return lookup;
  const { object, decoded } = lookup;
  return E.isRight(decoded)
    ? { kind: 'found', object: decoded.right }
    : { kind: 'unknown', reason: `${keyText(keyOf(object))}: ${describeProblems(decoded.left)}` };
}
