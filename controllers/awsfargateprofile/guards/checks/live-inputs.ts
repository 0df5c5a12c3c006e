import type { AWSManagedControlPlane, Cluster } from '../../../../api/external/index.ts';
import { decodeAWSManagedControlPlane, decodeCluster } from '../../../../api/external/index.ts';
import type { Decoded } from '../../../../pkg/kube/cache/typed-store.ts';
import type { KubeClient, KubeObject, ObjectKey, Resource } from '../../../../pkg/kube/types.ts';
import { controlPlaneReference } from '../../../shared/control-plane/control-plane-reference.ts';
import type { InputLookup, ReconcileInputs } from '../../goal/inputs.ts';
import { toInputLookup } from '../../goal/inputs.ts';

/**
 * The versions in which the API server serves Clusters and AWSManagedControlPlanes; `undefined` if it does not serve
 * the kind.
 */
export interface InputResources {
  readonly clusters: () => Resource | undefined;
  readonly controlPlanes: () => Resource | undefined;
}

/** Reads the Cluster and the control plane of an object again, from the API server instead of the caches. */
export type ReadLiveInputs = (inputs: ReconcileInputs, signal: AbortSignal) => Promise<ReconcileInputs>;

/**
 * Makes a function that reads the Cluster and the control plane from the API server. The caches may not show yet that
 * one of them is paused or is being deleted. If the API server does not serve control planes, the control plane from
 * the cache is used. If the API server serves no Clusters, or the object has no Cluster, both come from the caches.
 */
export const newLiveInputs =
  (client: KubeClient, resources: InputResources): ReadLiveInputs =>
  async (inputs, signal) => {
    const clusters = resources.clusters();
    if (clusters === undefined) return inputs;
    const { metadata, spec } = inputs.object;
    const name =
      spec.clusterName ?? (inputs.cluster.kind === 'found' ? inputs.cluster.object.metadata.name : undefined);
    if (name === undefined) return inputs;
    const key = { namespace: metadata.namespace, name };
    const cluster = await getLive(client, clusters, key, decodeCluster, signal);
    const controlPlane = await getControlPlane(client, resources.controlPlanes(), cluster, signal);
    return { ...inputs, cluster, controlPlane: controlPlane ?? inputs.controlPlane };
  };

/** Reads the control plane that the Cluster names; `undefined` if the API server does not serve control planes. */
async function getControlPlane(
  client: KubeClient,
  resource: Resource | undefined,
  cluster: InputLookup<Cluster>,
  signal: AbortSignal,
): Promise<InputLookup<AWSManagedControlPlane> | undefined> {
  if (cluster.kind !== 'found') return cluster;
  const reference = controlPlaneReference(cluster.object);
  if (reference === undefined) return { kind: 'absent' };
  return resource && getLive(client, resource, reference, decodeAWSManagedControlPlane, signal);
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
