import * as E from 'fp-ts/lib/Either.js';
import { type KubeClient, type KubeObject, listAll, type Resource, type Selection } from 'controller-runtime/client';
import { textAt } from 'controller-runtime/json';
import { isOlder, ownerOf, refusalOf } from '../../../pkg/fargate/fargate-pods.ts';
import { provisionedSize, requestedSize, sizeOfSpec } from '../../../pkg/fargate/pod-size.ts';
import { type Answer, tolerate, unseenIn } from '../aws.ts';
import { valueAt } from '../documents.ts';
import { NODES } from '../kube.ts';
import { listFargatePods, profileOf } from '../workload.ts';
import { evictionOf, toBudgets } from './budgets.ts';

export type PodFacts = Awaited<ReturnType<typeof readPods>>;
/** In the shape of `-o json`. */
export type FargatePod = PodFacts['pods'][number];

const BUDGETS: Resource = { group: 'policy', version: 'v1', plural: 'poddisruptionbudgets' };
const FARGATE_NODES = 'eks.amazonaws.com/compute-type=fargate';

/**
 * Also reads the nodes, the budgets, and the version of the control plane. Only the pods are required: if another
 * request fails, only its part of the answer is missing, and `unseen` contains the failure.
 * @throws KubeError if the pods cannot be listed
 */
export async function readPods(client: KubeClient, namespace: string | undefined, signal: AbortSignal) {
  const list = (resource: Resource, selection: Selection): Promise<Answer<readonly KubeObject[]>> =>
    tolerate(signal, () => listAll(client, resource, selection, signal));
  const [pods, nodes, budgets, server] = await Promise.all([
    listFargatePods(client, namespace, signal),
    list(NODES, { labelSelector: FARGATE_NODES }),
    list(BUDGETS, { namespace }).then(E.map(toBudgets)),
    tolerate(signal, () => client.discover('/version', { signal })),
  ]);
  const controlPlane = E.isRight(server) ? textAt(server.right, 'gitVersion') : undefined;
  const nodesByName = Map.groupBy(E.isRight(nodes) ? nodes.right : [], ({ metadata }) => metadata.name);
  const shown = pods.map((pod) => {
    const [node] = nodesByName.get(textAt(pod['spec'], 'nodeName') ?? '') ?? [];
    const version = textAt(valueAt(node, ['status', 'nodeInfo']), 'kubeletVersion');
    return {
      ...toFargatePod(pod),
      /** The kubelet's version on the pod's node. */
      version: version ?? null,
      outdated: isOlder(version, controlPlane),
      eviction: E.isRight(budgets) ? evictionOf(pod, budgets.right) : null,
    };
  });
  const asked = { 'versions of nodes': nodes, PodDisruptionBudgets: budgets, 'version of the control plane': server };
  return { controlPlane: controlPlane ?? null, pods: shown, unseen: unseenIn(Object.entries<Answer<unknown>>(asked)) };
}

export function toFargatePod(object: KubeObject) {
  const { namespace = '', name, creationTimestamp = null, annotations = {}, deletionTimestamp } = object.metadata;
  const refusal = refusalOf(object['status']);
  const phase = refusal === undefined ? (textAt(object['status'], 'phase') ?? 'Unknown') : 'Refused';
  return {
    profile: profileOf(object),
    namespace,
    name,
    state: deletionTimestamp === undefined ? phase : 'Terminating',
    /** Why Fargate refuses the pod. `null` if it does not. */
    message: refusal ?? null,
    asked: requestedSize(object['spec']),
    /** `null` if the pod is larger than the largest size. */
    billed: provisionedSize(annotations['CapacityProvisioned']) ?? sizeOfSpec(object['spec']) ?? null,
    owner: ownerOf(object),
    createdAt: creationTimestamp,
  };
}
