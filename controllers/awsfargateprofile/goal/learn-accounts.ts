import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { ReconcileContext } from '../../../pkg/runtime/reconcile.ts';
import type { ControlPlaneAccounts } from '../../shared/control-plane/control-plane-accounts.ts';
import { type InputCaches, controlPlanesToCompare } from './inputs.ts';

/**
 * Asks AWS STS for the AWS accounts of control planes whose EKS cluster has the name and region in spec.eksCluster, but
 * whose identity differs from the identity of the AWSFargateProfile, and caches these accounts. If the
 * AWSFargateProfile is in the same account, the control plane manages the EKS cluster in spec.eksCluster. The
 * AWSFargateProfile is then deleted together with the control plane.
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
