import type { Cluster, ObjectReference } from '../../api/external/index.ts';
import { isAWSManagedControlPlane } from '../../api/external/index.ts';

/** Whether the Cluster names a control plane in another namespace. */
export const isElsewhere = ({ metadata }: Cluster, { namespace }: ObjectReference): boolean =>
  namespace !== metadata.namespace;

/**
 * The reference of a Cluster to its AWSManagedControlPlane; `undefined` if the Cluster names none, one of another kind,
 * or one in another namespace. The objects of a Cluster share its namespace. A user with permission to write Clusters
 * in one namespace must not get the region, identity and finalizer of a control plane in another.
 */
export function controlPlaneReference(cluster: Cluster): ObjectReference | undefined {
  const { controlPlaneRef } = cluster;
  const isUsable =
    controlPlaneRef !== undefined &&
    isAWSManagedControlPlane(controlPlaneRef) &&
    !isElsewhere(cluster, controlPlaneRef);
  return isUsable ? controlPlaneRef : undefined;
}
