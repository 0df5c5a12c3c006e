import type { AWSManagedControlPlane } from '../../api/external/index.ts';
import { CONTROLLER_IDENTITY_KIND } from '../../api/external/identity.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { defaultEksClusterName } from '../../pkg/fargate/names.ts';
import { CONTROL_PLANE_FINALIZER } from './control-plane-finalizer.ts';

/** The fields of an AWSFargateProfile that tell whether the profile is in the EKS cluster of a control plane. */
type InEksCluster = Pick<AWSFargateProfile, 'metadata' | 'spec' | 'status'>;

/**
 * Whether an AWSFargateProfile names the EKS cluster of this control plane in spec.eksCluster. Such a profile joins the
 * finalizer and the teardown of the control plane, because EKS does not delete a cluster that has profiles.
 *
 * A control plane does not contain its AWS account. So this function assumes that the same identity always belongs to
 * the same account. A control plane that was never ready does not prove that the EKS cluster is its own, so no profile
 * joins such a control plane.
 */
export function joinsControlPlane(
  { metadata, spec, status }: InEksCluster,
  controlPlane: AWSManagedControlPlane,
  managerRegion: string | undefined,
): boolean {
  const { eksCluster } = spec;
  const { name, namespace, finalizers = [] } = controlPlane.metadata;
  return (
    eksCluster !== undefined &&
    metadata.namespace === namespace &&
    (controlPlane.ready || finalizers.includes(CONTROL_PLANE_FINALIZER)) &&
    eksCluster.name === (controlPlane.eksClusterName ?? defaultEksClusterName(name, namespace)) &&
    (eksCluster.region ?? status?.region ?? managerRegion) === controlPlane.region &&
    identityText(eksCluster.identityRef) === identityText(controlPlane.identityRef)
  );
}

const identityText = ({ kind, name } = { kind: CONTROLLER_IDENTITY_KIND as string, name: 'default' }): string =>
  `${kind}/${name}`;
