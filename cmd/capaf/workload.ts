import { textAt } from '../../api/record.ts';
import { PROFILE_LABEL } from '../../pkg/fargate/fargate-pods.ts';
import { listAll } from '../../pkg/kube/pages.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import { Failure, type Io } from './io.ts';
import { type KubeAccess, type KubeOptions, findEksCluster, openKube, openWorkloadCluster } from './kube.ts';
import { shellCommand } from './shell.ts';

/** Which cluster has the pods. */
export interface ClusterOptions {
  readonly cluster?: string;
  readonly clusterNamespace?: string;
  readonly eksCluster?: string;
  readonly workloadKubeconfig?: string;
}

/** @throws Failure unless the options name one cluster */
export function requireCluster({ cluster, eksCluster }: ClusterOptions): void {
  if ((cluster === undefined) === (eksCluster === undefined))
    throw new Failure('name either a Cluster of Cluster API with --cluster, or an EKS cluster with --eks-cluster');
}

/** The management cluster of --cluster; `undefined` with --eks-cluster. */
export const openManagement = (options: ClusterOptions & KubeOptions, io: Io): KubeAccess | undefined =>
  options.cluster === undefined ? undefined : openKube({ ...options, namespace: options.clusterNamespace }, io);

/** A Cluster of Cluster API, or an EKS cluster without one. */
export interface PodCluster {
  readonly cluster?: ObjectKey | undefined;
  readonly eksCluster?: string | undefined;
}

type PodOptions = KubeOptions & { readonly workloadKubeconfig?: string | undefined };

/**
 * The API server of the pods. Without `management`, --kubeconfig and --context are those of the pods' cluster.
 * @throws Failure
 */
export async function openPodCluster(
  { cluster, eksCluster = '' }: PodCluster,
  { workloadKubeconfig, kubeconfig, context, namespace }: PodOptions,
  management: KubeAccess | undefined,
  io: Io,
): Promise<KubeAccess> {
  if (workloadKubeconfig !== undefined) return openKube({ kubeconfig: workloadKubeconfig, namespace }, io);
  if (management !== undefined && cluster !== undefined) {
    // Otherwise a wrong name would be reported as a Secret that is missing.
    await findEksCluster(management.client, cluster, io.signal);
    return openWorkloadCluster({ ...management, namespace: cluster.namespace }, cluster.name, io, namespace);
  }
  if (management === undefined && (kubeconfig ?? context) !== undefined)
    return openKube({ kubeconfig, context, namespace }, io);
  throw new Failure(needsKubeconfig(eksCluster));
}

/** The endpoint of EKS and a token of STS will take the place of a kubeconfig. */
function needsKubeconfig(name: string): string {
  const command = shellCommand(['aws', 'eks', 'update-kubeconfig', `--name=${name}`, '--kubeconfig=pods.kubeconfig']);
  return `the pods of EKS cluster ${name} are read with a kubeconfig. Write one with: ${command}, and name it with --workload-kubeconfig`;
}

const PODS = { group: '', version: 'v1', plural: 'pods' };

/** The pods that Fargate profiles have, without those that have ended. No namespace: all. @throws KubeError */
export async function listFargatePods(client: KubeClient, namespace: string | undefined, signal: AbortSignal) {
  const pods = await listAll(client, PODS, { namespace, labelSelector: PROFILE_LABEL }, signal);
  return pods.filter(({ status }) => !['Succeeded', 'Failed'].includes(textAt(status, 'phase') ?? ''));
}

export const profileOf = ({ metadata: { labels = {} } }: KubeObject): string => labels[PROFILE_LABEL] ?? '';
