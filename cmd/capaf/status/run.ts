import { styleText } from 'node:util';
import { toPrintableLine } from 'controller-runtime/text';
import { EksClusterName } from '../../../api/names.ts';
import { KIND } from '../../../api/v1beta2/index.ts';
import { openAws } from '../aws.ts';
import { type ExitCode, Failure, type Io, tell } from '../io.ts';
import { openKube } from '../kube.ts';
import { requireOneNamespace } from '../objects.ts';
import type { CommonOptions } from '../program.ts';
import { type TreeNode, renderTree } from '../tree.ts';
import { type ClusterOptions, openPodCluster, openWorkloadKubeconfig } from '../workload.ts';
import { type Target, readEksCluster, readStatus } from './read.ts';

export interface StatusOptions extends CommonOptions, ClusterOptions {
  readonly allNamespaces?: boolean;
}

export async function runStatus(names: readonly string[], options: StatusOptions, io: Io): Promise<ExitCode> {
  const { cluster, eksCluster, workloadKubeconfig, allNamespaces = false } = options;
  if (eksCluster !== undefined && (cluster !== undefined || names.length > 0))
    throw new Failure('--eks-cluster shows an EKS cluster without objects: leave out --cluster and the names');
  requireOneNamespace(names, allNamespaces);
  if (workloadKubeconfig !== undefined && cluster === undefined && eksCluster === undefined)
    throw new Failure('--workload-kubeconfig is of one cluster: name it with --cluster or --eks-cluster');
  await using workload = openWorkloadKubeconfig(options, io);
  await using aws = openAws(options, io);
  await using management = eksCluster === undefined ? openKube(options, io) : undefined;
  const openPods = ({ cluster: key, eksCluster: of }: Target) =>
    openPodCluster(
      { cluster: key, eksCluster: of?.name, region: of?.region },
      { ...options, workload },
      management,
      io,
    );
  const access = { aws, management, openPods, now: io.clock.now(), signal: io.signal };
  const namespace = allNamespaces ? undefined : management?.namespace;
  const target = { name: EksClusterName.of(eksCluster ?? ''), region: aws.region };
  const tree = management
    ? await readStatus(management, { namespace, names, cluster }, access)
    : [await readEksCluster(target, access)];
  const where = namespace === undefined ? 'all namespaces' : `namespace ${namespace}`;
  const title = management && `${KIND}s in ${where}`;
  const text = describeStatus(tree, title, io.isTerminal === true);
  return tell(io, options, { tree }, text, isFine(tree, management !== undefined));
}

export const nodesIn = (tree: readonly TreeNode[]): readonly TreeNode[] =>
  tree.flatMap((node) => [node, ...nodesIn(node.children ?? [])]);

/** If true, the exit code is 0. Only AWSFargateProfiles count or, without Cluster API, all nodes. */
export function isFine(tree: readonly TreeNode[], hasObjects: boolean): boolean {
  const counted = nodesIn(tree).filter(({ kind }) => !hasObjects || kind === KIND);
  return counted.every(({ result }) => result === 'ok' || (result === 'unchecked' && !hasObjects));
}

export function describeStatus(tree: readonly TreeNode[], title: string | undefined, isTerminal: boolean): string {
  const objects = nodesIn(tree).filter(({ kind }) => kind === KIND);
  const notReady = objects.filter(({ result }) => result !== 'ok').length;
  const header = title && styleText('bold', toPrintableLine(`${title}: ${objects.length}, not Ready: ${notReady}`));
  const roots = tree.map((root) => renderTree(root, isTerminal).join('\n'));
  return `${[...(header === undefined ? [] : [header]), ...roots].join('\n\n')}\n`;
}
