import type { Cluster, ObjectReference } from '../../../api/external/index.ts';
import { isAWSManagedControlPlane } from '../../../api/external/index.ts';

/** Whether the Cluster names a control plane in another namespace than its own. */
export const isElsewhere = ({ metadata }: Cluster, { namespace }: ObjectReference): boolean =>
  namespace !== metadata.namespace;

/**
 * Returns the reference of a Cluster to its AWSManagedControlPlane. `undefined` if the Cluster names no control plane,
 * or a control plane of another kind or in another namespace. The objects of a Cluster share its namespace. A user who
 * may write Clusters in one namespace must not get region, identity and finalizer of a control plane in another
 * namespace.
 */
export function controlPlaneReference(cluster: Cluster): ObjectReference | undefined {
  const { controlPlaneRef } = cluster;
  const isUsable =
    controlPlaneRef !== undefined &&
    isAWSManagedControlPlane(controlPlaneRef) &&
    !isElsewhere(cluster, controlPlaneRef);
  return isUsable ? controlPlaneRef : undefined;
}
