import { CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import { keyText } from '../../../pkg/kube/object-key.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import type { ControlPlaneFinalizer, FinalizerResult } from '../../shared/control-plane/control-plane-finalizer.ts';
import type { ControlPlaneFacts } from '../model/goal-kinds.ts';
import type { Mutation } from '../model/mutation.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { type Preparation, stop } from './guards.ts';

/** The finalizer keeps the control plane until its profiles are deleted. Without it, nothing may be created. */
export async function holdControlPlane(
  finalizer: Pick<ControlPlaneFinalizer, 'add'>,
  facts: ControlPlaneFacts,
  signal: AbortSignal,
): Promise<ControlPlaneFacts> {
  const { controlPlane } = facts;
  if (facts.creationBlocker !== undefined || controlPlane === undefined) return facts;
  return { ...facts, creationBlocker: blockerFor(await finalizer.add(controlPlane, signal), controlPlane) };
}

/**
 * The cache may still show the finalizer although the control plane has lost it and is being deleted. A profile that is
 * created then would make EKS refuse to delete the cluster.
 */
export function confirmFinalizer({
  controlPlaneFinalizer,
}: {
  readonly controlPlaneFinalizer: Pick<ControlPlaneFinalizer, 'confirm'>;
}): Preparation {
  return async (mutation, { controlPlane, signal }) => {
    if (!isCreation(mutation) || controlPlane === undefined) return undefined;
    const reason = blockerFor(await controlPlaneFinalizer.confirm(controlPlane, signal), controlPlane);
    return reason && stop(reason);
  };
}

const isCreation = ({ kind }: Mutation): boolean => kind === 'createRole' || kind === 'createProfile';

function blockerFor(result: FinalizerResult, controlPlane: ObjectKey): Reason | undefined {
  const name = keyText(controlPlane);
  switch (result.kind) {
    case 'present':
      return undefined;
    case 'controlPlaneDeleting':
      return newReason('ClusterDeleting', { what: `${CONTROL_PLANE_KIND} ${name}` });
    case 'rejected': {
      const { reason, remedy } = result;
      return newReason('GuardRefused', { controlPlane: name, reason, remedy });
    }
  }
}
