import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { ReconcileContext } from '../../../pkg/runtime/reconcile.ts';
import type { ControlPlaneAccounts } from '../../shared/control-plane/control-plane-accounts.ts';
import type { InputCaches } from './inputs.ts';
import { controlPlanesToCompare } from './inputs.ts';

/**
 * Asks AWS STS for the accounts of control planes that may manage the EKS cluster in spec.eksCluster, because their EKS
 * cluster has the same name and region. Only if the account is the same too, such a control plane manages that EKS
 * cluster, and its deletion deletes the object too.
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
