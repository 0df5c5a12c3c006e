import type { KubeObject } from 'controller-runtime/client';

export type HealthStatus = 'Healthy' | 'Progressing' | 'Degraded' | 'Suspended';

export interface Health {
  readonly status: HealthStatus;
  readonly message: string;
}

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
}

/** The directory of the AWSFargateProfile health script. Argo CD's repository uses the same directory names. */
export const SCRIPT_DIRECTORY = new URL(
  '../../config/argocd/resource_customizations/infrastructure.cluster.x-k8s.io/AWSFargateProfile/',
  import.meta.url,
);

/**
 * Returns the health that Argo CD's health script must report for an AWSFargateProfile. Argo CD's own test compares
 * this health with the script's result.
 */
export function healthOf(object: KubeObject): Health {
  const { observedGeneration, conditions = [] } = (object['status'] ?? {}) as Status;
  const find = (type: string) => conditions.find((condition) => condition.type === type);
  const isTrue = (type: string): boolean => find(type)?.status === 'True';
  const message = (type: string): string => find(type)?.message ?? '';
  if (conditions.length === 0) return { status: 'Progressing', message: 'Waiting for the controller' };
  if (isTrue('Paused')) return { status: 'Suspended', message: message('Paused') };
  if (observedGeneration !== object.metadata.generation)
    return { status: 'Progressing', message: 'Waiting for the controller to observe the latest generation' };
  if (isTrue('Stalled')) return { status: 'Degraded', message: message('Stalled') };
  return { status: isTrue('Ready') ? 'Healthy' : 'Progressing', message: message('Ready') };
}
