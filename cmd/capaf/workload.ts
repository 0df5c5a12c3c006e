import * as E from 'fp-ts/lib/Either.js';
import { type KubeClient, type KubeObject, listAll, type ObjectKey } from 'controller-runtime/client';
import { textAt } from 'controller-runtime/json';
import { newConnectToServer } from 'controller-runtime/kubeconfig';
import { environmentProxies } from 'controller-runtime/network';
import { errorMessage, shellCommand } from 'controller-runtime/text';
import { EksClusterName } from '../../api/names.ts';
import { findServer, MAX_REQUESTS } from '../../controllers/shared/workload-server.ts';
import { PROFILE_LABEL } from '../../pkg/fargate/fargate-pods.ts';
import { type AwsOptions, OTHER_CREDENTIALS, openAws, requireRegion } from './aws.ts';
import { Failure, type Io } from './io.ts';
import {
  type KubeAccess,
  type KubeOptions,
  PODS,
  findEksCluster,
  kubeAccess,
  openKube,
  openWorkloadCluster,
} from './kube.ts';

/** The options that select the cluster of the pods. */
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

/**
 * Opens the cluster of --workload-kubeconfig, if that option is set, without sending a request. Commands call this at
 * their start, because they continue if the pods cannot be read, but not if the user's file is not a kubeconfig.
 *
 * @throws KubeconfigError
 */
export const openWorkloadKubeconfig = (
  { workloadKubeconfig: kubeconfig, namespace }: ClusterOptions & Pick<KubeOptions, 'namespace'>,
  io: Io,
): KubeAccess | undefined => (kubeconfig === undefined ? undefined : openKube({ kubeconfig, namespace }, io));

/** Opens the management cluster for --cluster. Returns `undefined` with --eks-cluster. */
export const openManagement = (options: ClusterOptions & KubeOptions, io: Io): KubeAccess | undefined =>
  options.cluster === undefined ? undefined : openKube({ ...options, namespace: options.clusterNamespace }, io);

/** A Cluster (Cluster API), or an EKS cluster without one. */
interface PodCluster {
  readonly cluster?: ObjectKey | undefined;
  readonly eksCluster?: string | undefined;
  readonly region?: string | undefined;
}

/** `workload` is the result of {@link openWorkloadKubeconfig}. */
type PodOptions = KubeOptions & AwsOptions & { readonly workload: KubeAccess | undefined };

/**
 * Opens the API server of the pods' cluster. Closing the result does not close `workload`. Without `management`,
 * --kubeconfig and --context select the pods' cluster.
 * @throws Failure
 */
export async function openPodCluster(
  { cluster, eksCluster = '', region }: PodCluster,
  options: PodOptions,
  management: KubeAccess | undefined,
  io: Io,
): Promise<KubeAccess> {
  const { workload, kubeconfig, context, namespace } = options;
  if (workload !== undefined) return { ...workload, [Symbol.asyncDispose]: async () => {} };
  if (management !== undefined && cluster !== undefined) {
    // Without this check, a wrong name of a Cluster would be reported as a missing Secret.
    await findEksCluster(management.client, cluster, io.signal);
    return openWorkloadCluster({ ...management, namespace: cluster.namespace }, cluster.name, io, namespace);
  }
  if (management === undefined && (kubeconfig ?? context) !== undefined)
    return openKube({ kubeconfig, context, namespace }, io);
  return openEksCluster(eksCluster, options, region, io);
}

export const kubeconfigCommand = (name: string, region: string): string =>
  shellCommand([
    'aws',
    'eks',
    'update-kubeconfig',
    `--region=${region}`,
    `--name=${name}`,
    '--kubeconfig=pods.kubeconfig',
  ]);

/** Uses the EKS cluster's endpoint and an STS token. @throws Failure */
async function openEksCluster(name: string, options: PodOptions, region: string | undefined, io: Io) {
  await using aws = openAws(options, io);
  const session = await aws.open(requireRegion(region ?? aws.region));
  const remedy = `or name a kubeconfig with --workload-kubeconfig; this command writes one: ${kubeconfigCommand(name, session.region)}`;
  const server = await findServer(session, EksClusterName.of(name)).catch((cause: unknown) => {
    throw new Failure(`${errorMessage(cause)}; ${remedy}`, { cause });
  });
  if (E.isLeft(server)) throw new Failure(`${server.left.problem}. ${server.left.remedy}, ${remedy}`);
  const { account } = session;
  if (server.right === undefined)
    throw new Failure(`AWS has no EKS cluster ${name} in ${session.region}, account ${account}. ${OTHER_CREDENTIALS}`);
  const proxyFor = environmentProxies(io.env);
  if (E.isLeft(proxyFor)) throw new Failure(proxyFor.left);
  const connections = newConnectToServer(proxyFor.right, MAX_REQUESTS)(server.right);
  return kubeAccess(connections, { server: server.right.url.origin, namespace: options.namespace ?? 'default' }, io);
}

/** Lists Fargate pods that have not ended. Without a namespace, lists all namespaces. @throws KubeError */
export async function listFargatePods(client: KubeClient, namespace: string | undefined, signal: AbortSignal) {
  const pods = await listAll(client, PODS, { namespace, labelSelector: PROFILE_LABEL }, signal);
  return pods.filter(({ status }) => !['Succeeded', 'Failed'].includes(textAt(status, 'phase') ?? ''));
}

export const profileOf = ({ metadata: { labels = {} } }: KubeObject): string => labels[PROFILE_LABEL] ?? '';
