import type { AWSManagedControlPlane } from '../../../../api/external/index.ts';
import { decodeAWSManagedControlPlane, decodeCluster } from '../../../../api/external/index.ts';
import type { Decoded } from '../../../../pkg/kube/cache/typed-store.ts';
import { keyOf } from '../../../../pkg/kube/object-key.ts';
import type { KubeClient, KubeObject, ObjectKey, Resource } from '../../../../pkg/kube/types.ts';
import { controlPlaneReference } from '../../../shared/control-plane/joined-control-plane.ts';
import { NAMESPACES } from '../../../shared/live-profiles.ts';
import { isDeleting, isRetained } from '../../../shared/object-state.ts';
import { type InputLookup, type ReconcileInputs, toInputLookup } from '../../goal/inputs.ts';

export interface InputResources {
  readonly clusters: () => Resource | undefined;
  readonly controlPlanes: () => Resource | undefined;
}

export type ReadLiveInputs = (inputs: ReconcileInputs, signal: AbortSignal) => Promise<ReconcileInputs>;

/**
 * The caches may not show yet that Cluster or control plane is paused or being deleted. A kind that the API server does
 * not serve comes from the cache.
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

/** The Cluster that the spec names, or that of the control plane that manages spec.eksCluster. */
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
