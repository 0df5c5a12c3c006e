import * as E from 'fp-ts/lib/Either.js';
import { textAt } from '../../../api/record.ts';
import { PROFILE_LABEL, isOlder, ownerOf, refusalOf } from '../../../pkg/fargate/fargate-pods.ts';
import { listAll } from '../../../pkg/kube/pages.ts';
import type { KubeClient, KubeObject, Resource, Selection } from '../../../pkg/kube/types.ts';
import { type Answer, attempt, unseenIn } from '../aws.ts';
import { listAt, valueAt } from '../documents.ts';
import { sizeOf } from '../explain/fargate-limits.ts';
import { podOf } from '../explain/pod.ts';
import { type Size, parseQuantity, totalRequest } from '../../../pkg/fargate/pod-size.ts';
import { evictionOf, toBudgets } from './budgets.ts';

export type PodFacts = Awaited<ReturnType<typeof readPods>>;
/** In the shape of `-o json`. */
export type FargatePod = PodFacts['pods'][number];

const PODS: Resource = { group: '', version: 'v1', plural: 'pods' };
const NODES: Resource = { group: '', version: 'v1', plural: 'nodes' };
const BUDGETS: Resource = { group: 'policy', version: 'v1', plural: 'poddisruptionbudgets' };
const FARGATE_NODES = 'eks.amazonaws.com/compute-type=fargate';

/** The pods that Fargate profiles have, without those that have ended. No namespace: all. @throws KubeError */
export async function listFargatePods(client: KubeClient, namespace: string | undefined, signal: AbortSignal) {
  const pods = await listAll(client, PODS, { namespace, labelSelector: PROFILE_LABEL }, signal);
  return pods.filter(({ status }) => !['Succeeded', 'Failed'].includes(textAt(status, 'phase') ?? ''));
}

export const profileOf = ({ metadata: { labels = {} } }: KubeObject): string => labels[PROFILE_LABEL] ?? '';

/** What belongs to the pods may be hidden. @throws KubeError */
export async function readPods(client: KubeClient, namespace: string | undefined, signal: AbortSignal) {
  const list = (resource: Resource, selection: Selection): Promise<Answer<readonly KubeObject[]>> =>
    attempt(() => listAll(client, resource, selection, signal));
  const [pods, nodes, budgets, server] = await Promise.all([
    listFargatePods(client, namespace, signal),
    list(NODES, { labelSelector: FARGATE_NODES }),
    list(BUDGETS, { namespace }).then(E.map(toBudgets)),
    attempt(() => client.discover('/version', { signal })),
  ]);
  const controlPlane = E.isRight(server) ? textAt(server.right, 'gitVersion') : undefined;
  const nodesByName = Map.groupBy(E.isRight(nodes) ? nodes.right : [], ({ metadata }) => metadata.name);
  const shown = pods.map((pod) => {
    const [node] = nodesByName.get(textAt(pod['spec'], 'nodeName') ?? '') ?? [];
    const version = textAt(valueAt(node, ['status', 'nodeInfo']), 'kubeletVersion');
    return {
      ...toFargatePod(pod),
      /** Of the kubelet of its node. */
      version: version ?? null,
      outdated: isOlder(version, controlPlane),
      eviction: E.isRight(budgets) ? evictionOf(pod, budgets.right) : null,
    };
  });
  const asked = { 'versions of nodes': nodes, PodDisruptionBudgets: budgets, 'version of the control plane': server };
  return { controlPlane: controlPlane ?? null, pods: shown, unseen: unseenIn(Object.entries<Answer<unknown>>(asked)) };
}

function toFargatePod(object: KubeObject) {
  const { namespace = '', name, creationTimestamp = null, annotations = {}, deletionTimestamp } = object.metadata;
  const pod = podOf({ ...object, kind: 'Pod' }, namespace);
  const refusal = refusalOf(object['status']);
  const phase = refusal === undefined ? (textAt(object['status'], 'phase') ?? 'Unknown') : 'Refused';
  return {
    profile: profileOf(object),
    namespace,
    name,
    state: deletionTimestamp === undefined ? phase : 'Terminating',
    /** What Fargate says. */
    message: refusal ?? null,
    asked: askedSize(object['spec']),
    /** `null`: larger than the largest size. */
    billed: provisionedSize(annotations['CapacityProvisioned']) ?? (pod && sizeOf(pod)) ?? null,
    owner: ownerOf(object),
    createdAt: creationTimestamp,
  };
}

/** Of the containers that run together. Requests of the pod as a whole count instead. */
function askedSize(spec: unknown): Size {
  const sidecars = listAt(spec, 'initContainers').filter((each) => textAt(each, 'restartPolicy') === 'Always');
  const together = [...listAt(spec, 'containers'), ...sidecars];
  const of = (resource: string): number =>
    (parseQuantity(valueAt(spec, ['resources', 'requests', resource])) ?? totalRequest(together, resource)) / 1000;
  return { vCPU: of('cpu'), memoryGB: of('memory') / 1024 ** 3 };
}

/** Fargate writes the annotation CapacityProvisioned: `0.25vCPU 0.5GB`. */
function provisionedSize(annotation = ''): Size | undefined {
  const [, vCPU, memoryGB] = /^(\d{1,3}(?:\.\d{1,3})?)vCPU (\d{1,3}(?:\.\d{1,3})?)GB$/.exec(annotation) ?? [];
  return vCPU === undefined ? undefined : { vCPU: Number(vCPU), memoryGB: Number(memoryGB) };
}
