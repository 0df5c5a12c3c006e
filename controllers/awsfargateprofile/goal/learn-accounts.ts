import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { ReconcileContext } from '../../../pkg/runtime/reconcile.ts';
import type { ControlPlaneAccounts } from '../../shared/control-plane/control-plane-accounts.ts';
import { type InputCaches, controlPlanesToCompare } from './inputs.ts';

/**
 * Asks STS for the accounts of control planes that may manage the EKS cluster in spec.eksCluster. If one is in the
 * account of the object, the object is deleted together with it.
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
