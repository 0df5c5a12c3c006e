import * as E from 'fp-ts/lib/Either.js';
import type { Ms } from 'controller-runtime/env';
import { shellCommand } from 'controller-runtime/text';
import { tolerate } from '../aws.ts';
import { DEPLOYMENTS, toDeployment } from '../deployment.ts';
import { decide } from '../explain/decide.ts';
import { podOf } from '../explain/pod.ts';
import { mergeProfiles } from '../explain/profiles.ts';
import type { Io } from '../io.ts';
import { type KubeAccess, NODES, findEksCluster } from '../kube.ts';
import { type ClusterOptions, openPodCluster } from '../workload.ts';
import { type Check, type Verdict, line } from './check.ts';
import type { AwsFacts } from './read-aws.ts';

const COREDNS = { namespace: 'kube-system', name: 'coredns' };
const OTHER_NODES = 'eks.amazonaws.com/compute-type!=fargate';
const SEE_PAGE = 'See docs/fargate-only.md';

export type DnsFacts = NonNullable<Awaited<ReturnType<typeof readDns>>>;

/** Reads CoreDNS in the cluster of --cluster, if that option is set. @throws Failure if there is no such Cluster */
export async function readDns(
  { cluster: name, workload: given }: ClusterOptions & { readonly workload: KubeAccess | undefined },
  management: KubeAccess,
  io: Io,
) {
  if (name === undefined) return undefined;
  const { signal } = io;
  const cluster = { namespace: management.namespace, name };
  const { name: eksCluster } = await findEksCluster(management.client, cluster, signal);
  const answer = await tolerate(signal, async () => {
    await using workload = await openPodCluster({ cluster }, { workload: given }, management, io);
    const { client } = workload;
    const object = await client.get(DEPLOYMENTS, COREDNS, { signal });
    const { items: nodes } = await client.list(NODES, { labelSelector: OTHER_NODES, limit: 1, signal });
    return { object: object && { ...object, kind: 'Deployment' }, hasOtherNodes: nodes.length > 0 };
  });
  return { cluster: name, eksCluster, answer };
}

/** Without CoreDNS, pods cannot resolve names. A new cluster without nodes has CoreDNS, but its pods cannot run. */
export function checkDns(
  dns: DnsFacts | undefined,
  { clusters }: Pick<AwsFacts, 'clusters'>,
  now: Ms,
): readonly Check[] {
  if (dns === undefined) return [];
  const { cluster, eksCluster, answer } = dns;
  const profiles = clusters.find((each) => each.cluster.name === eksCluster)?.profiles ?? E.left('EKS was not asked');
  const verdict: Verdict = E.isLeft(answer) ? ['unchecked', answer.left] : judgeDns(answer.right, profiles, now);
  return [line('workload', `CoreDNS of ${cluster}`, verdict)];
}

type Seen = Extract<DnsFacts['answer'], E.Right<unknown>>['right'];

function judgeDns(
  { object, hasOtherNodes }: Seen,
  profiles: AwsFacts['clusters'][number]['profiles'],
  now: Ms,
): Verdict {
  const pod = podOf(object, COREDNS.namespace);
  if (object === undefined || pod === undefined)
    return ['warning', 'there is no Deployment kube-system/coredns, so pods may find no names', SEE_PAGE];
  const { ready, replicas } = toDeployment(object);
  const state = `${ready} of ${replicas} pods ready`;
  if (ready > 0 && ready >= replicas) return ['ok', state];
  const result = ready === 0 ? 'problem' : 'warning';
  const look = `See ${shellCommand(['kubectl', 'describe', 'pods', '-n', COREDNS.namespace])}, in the workload cluster`;
  if (hasOtherNodes) return [result, `${state}; the cluster has nodes besides those of Fargate`, look];
  if (E.isLeft(profiles))
    return [result, `${state}; which Fargate profile takes them is not known: ${profiles.left}`, look];
  const { taker, summary, traps } = decide(pod, mergeProfiles([], profiles.right), true, now);
  const fix =
    taker === null ? `Create an AWSFargateProfile for namespace ${COREDNS.namespace}: docs/fargate-only.md` : look;
  return [result, `${state}. ${summary}`, traps[0] ?? fix];
}
