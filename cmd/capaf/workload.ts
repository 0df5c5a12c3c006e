import { Failure, type Io } from './io.ts';
import { type KubeAccess, type KubeOptions, findEksCluster, openKube, openWorkloadCluster } from './kube.ts';
import { shellCommand } from './shell.ts';

/** Which cluster, and which API server has its pods. */
export interface ClusterOptions {
  readonly cluster?: string | undefined;
  readonly eksCluster?: string | undefined;
  readonly workloadKubeconfig?: string | undefined;
}

/** The API server of the pods. Without `management`, the cluster is that of --eks-cluster. @throws Failure */
export async function openPodCluster(
  options: ClusterOptions & KubeOptions,
  management: KubeAccess | undefined,
  io: Io,
): Promise<KubeAccess> {
  const { cluster: name = '', eksCluster = '', workloadKubeconfig, kubeconfig, context, namespace } = options;
  if (workloadKubeconfig !== undefined) return openKube({ kubeconfig: workloadKubeconfig, namespace }, io);
  if (management === undefined && (kubeconfig ?? context) === undefined) return openEksCluster(eksCluster);
  if (management === undefined) return openKube({ kubeconfig, context, namespace }, io);
  // Otherwise a wrong name would be reported as a Secret that is missing.
  await findEksCluster(management.client, { namespace: management.namespace, name }, io.signal);
  return openWorkloadCluster(management, name, io, namespace);
}

/** The endpoint of EKS and a token of STS will take the place of a kubeconfig here. @throws Failure */
function openEksCluster(name: string): never {
  const command = shellCommand(['aws', 'eks', 'update-kubeconfig', `--name=${name}`, '--kubeconfig=pods.kubeconfig']);
  throw new Failure(
    `the pods of EKS cluster ${name} are read with a kubeconfig. Write one with: ${command}, and name it with --workload-kubeconfig`,
  );
}
