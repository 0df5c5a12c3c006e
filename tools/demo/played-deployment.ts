import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient, RawObject } from '../../test/envtest/clients/api.ts';
import { POD_SPEC, isReady } from '../../test/world/workload/workload-cluster.ts';

export const NAMESPACE = 'web';
const NAME = 'web';
export const REPLICAS = 3;
/** The number of Ready pods that the PodDisruptionBudget requires. */
export const MIN_AVAILABLE = 2;
const TICK_MS = 100;
const LABELS = { app: NAME };
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const REPLICA_SET = `/apis/apps/v1/namespaces/${NAMESPACE}/replicasets/${NAME}`;
const BUDGET = `/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets/${NAME}`;

/**
 * Simulates the controllers of a ReplicaSet with three pods and of its PodDisruptionBudget until `signal` is aborted.
 */
export async function playDeployment(api: ApiClient, signal: AbortSignal): Promise<void> {
  await api.apply(`/api/v1/namespaces/${NAMESPACE}`, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: NAMESPACE },
  });
  const metadata = { name: NAME, namespace: NAMESPACE };
  const selector = { matchLabels: LABELS };
  const template = { metadata: { labels: LABELS }, spec: POD_SPEC };
  await api.apply(REPLICA_SET, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata,
    spec: { replicas: REPLICAS, selector, template },
  });
  await api.apply(BUDGET, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata,
    spec: { minAvailable: MIN_AVAILABLE, selector },
  });
  const { uid } = (await api.get(REPLICA_SET)).metadata;
  let created = 0;
  while (!signal.aborted) {
    // The budget is read before the pods, so that the write of its status conflicts if a pod is evicted in between.
    const budget = await api.get(BUDGET);
    const pods = (await api.list(PODS)).items.filter(({ metadata: { deletionTimestamp } }) => !deletionTimestamp);
    await allowDisruptions(api, budget, pods);
    for (let missing = REPLICAS - pods.length; missing > 0; missing--) {
      created += 1;
      const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: NAME, uid, controller: true };
      const body = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: `${NAME}-${created}`, labels: LABELS, ownerReferences: [owner] },
        spec: POD_SPEC,
      };
      await api.request('POST', PODS, { body });
    }
    await delay(TICK_MS);
  }
}

/**
 * Writes the status of the budget. The API server accepts an eviction only if this status allows a disruption, and then
 * records the evicted pod in the status.
 */
async function allowDisruptions(
  api: ApiClient,
  { metadata: { generation, resourceVersion }, status = {} }: RawObject,
  pods: readonly RawObject[],
): Promise<void> {
  const evicted = Object.keys(status['disruptedPods'] ?? {});
  const healthy = pods.filter((pod) => isReady(pod) && !evicted.includes(pod.metadata.name)).length;
  const next = {
    observedGeneration: generation,
    expectedPods: REPLICAS,
    desiredHealthy: MIN_AVAILABLE,
    currentHealthy: healthy,
    disruptionsAllowed: Math.max(0, healthy - MIN_AVAILABLE),
  };
  if (Object.entries(next).every(([field, value]) => status[field] === value)) return;
  await api.patch(`${BUDGET}/status`, { metadata: { resourceVersion }, status: next }).catch(ignoreConflict);
}

function ignoreConflict(error: unknown): void {
  if (!(error instanceof Error) || !/: 409 /.test(error.message)) throw error;
}
