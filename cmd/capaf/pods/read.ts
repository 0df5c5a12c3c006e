import * as E from 'fp-ts/lib/Either.js';
import { textAt } from '../../../api/record.ts';
import type { KubeClient, KubeObject, Resource, Selection } from '../../../pkg/kube/types.ts';
import { type Answer, attempt, unseenIn } from '../aws.ts';
import { listAt, valueAt } from '../documents.ts';
import { PROFILE_LABEL } from '../explain/decide.ts';
import { sizeOf } from '../explain/fargate-limits.ts';
import { podOf } from '../explain/pod.ts';
import { type Size, parseQuantity, totalRequest } from '../explain/size.ts';
import { listAll } from '../workload.ts';
import { evictionOf, toBudgets } from './budgets.ts';

/** A pod that EKS has given to a Fargate profile, in the shape of `-o json`. */
export type FargatePod = Awaited<ReturnType<typeof readPods>>['pods'][number];

const PODS: Resource = { group: '', version: 'v1', plural: 'pods' };
const NODES: Resource = { group: '', version: 'v1', plural: 'nodes' };
const BUDGETS: Resource = { group: 'policy', version: 'v1', plural: 'poddisruptionbudgets' };
const FARGATE_NODES = 'eks.amazonaws.com/compute-type=fargate';

/** Without those that have ended. @throws KubeError */
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
  const controlPlane = (E.isRight(server) && textAt(server.right, 'gitVersion')) || null;
  const nodesByName = Map.groupBy(E.isRight(nodes) ? nodes.right : [], ({ metadata }) => metadata.name);
  const shown = pods.map((pod) => {
    const [node] = nodesByName.get(textAt(pod['spec'], 'nodeName') ?? '') ?? [];
    /** Of the kubelet of its node. */
    const version = textAt(valueAt(node, ['status', 'nodeInfo']), 'kubeletVersion') ?? null;
    const outdated = minorOf(version) < minorOf(controlPlane);
    return {
      ...toFargatePod(pod),
      version,
      outdated,
      eviction: E.isRight(budgets) ? evictionOf(pod, budgets.right) : null,
    };
  });
  const asked = {
    'the versions of nodes': nodes,
    PodDisruptionBudgets: budgets,
    'the version of the control plane': server,
  };
  return { controlPlane, pods: shown, unseen: unseenIn(Object.entries<Answer<unknown>>(asked)) };
}

/** Not a number, which is less than no other, if the version is not known. */
const minorOf = (version: string | null): number => Number(/^v1\.(\d{1,4})/.exec(version ?? '')?.[1]);

function toFargatePod(object: KubeObject) {
  const { namespace = '', name, creationTimestamp = null, annotations = {}, deletionTimestamp } = object.metadata;
  const pod = podOf({ ...object, kind: 'Pod' }, namespace);
  const phase = textAt(object['status'], 'phase') ?? 'Unknown';
  const unscheduled = listAt(object['status'], 'conditions').find(
    (condition) => textAt(condition, 'type') === 'PodScheduled' && textAt(condition, 'status') === 'False',
  );
  const isRefused = phase === 'Pending' && unscheduled !== undefined;
  return {
    profile: profileOf(object),
    namespace,
    name,
    state: deletionTimestamp !== undefined ? 'Terminating' : isRefused ? 'Refused' : phase,
    /** What Fargate says. */
    message: isRefused ? (textAt(unscheduled, 'message') ?? null) : null,
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

/** The controller that creates the pod again. A Deployment puts its hash into the name of its ReplicaSet. */
function ownerOf({ metadata: { labels = {}, ownerReferences = [] } }: KubeObject) {
  const reference = ownerReferences.find(({ controller }) => controller === true);
  if (reference === undefined) return null;
  const { kind, name } = reference;
  const hash = `-${labels['pod-template-hash']}`;
  const isOfDeployment = kind === 'ReplicaSet' && name.endsWith(hash);
  return isOfDeployment ? { kind: 'Deployment', name: name.slice(0, -hash.length) } : { kind, name };
}
