import { type ExitCode, type Io, tell } from '../io.ts';
import type { CommonOptions } from '../program.ts';
import {
  type ClusterOptions,
  openManagement,
  openPodCluster,
  openWorkloadKubeconfig,
  requireCluster,
} from '../workload.ts';
import { describePods } from './describe.ts';
import { type FargatePod, type PodFacts, readPods } from './read.ts';
import { renewalsOf } from './renewals.ts';

export interface PodsOptions extends CommonOptions, ClusterOptions {
  readonly allNamespaces?: boolean;
  readonly profileName?: string;
  readonly outdated?: boolean;
}

export async function runPods(options: PodsOptions, io: Io): Promise<ExitCode> {
  requireCluster(options);
  const { cluster: name, eksCluster } = options;
  await using given = openWorkloadKubeconfig(options, io);
  await using management = given === undefined ? openManagement(options, io) : undefined;
  const cluster = management && name !== undefined ? { namespace: management.namespace, name } : undefined;
  await using workload = await openPodCluster({ cluster, eksCluster }, { ...options, workload: given }, management, io);
  const namespace = options.allNamespaces === true ? undefined : workload.namespace;
  const report = {
    namespace: namespace ?? null,
    ...reportOf(await readPods(workload.client, namespace, io.signal), options),
  };
  const { outdated, pending, refused } = report.total;
  return tell(io, options, report, describePods(report, io.clock.now()), outdated + pending + refused === 0);
}

/** Returns the report in the shape of `-o json`. */
export function reportOf({ pods, ...facts }: PodFacts, options: PodsOptions) {
  const { profileName, outdated = false, workloadKubeconfig } = options;
  const shown = pods.filter(
    (pod) => (profileName === undefined || pod.profile === profileName) && (pod.outdated || !outdated),
  );
  const profiles = [...Map.groupBy(shown, ({ profile }) => profile)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, each]) => ({ name, total: totalOf(each), pods: each }));
  const kubectl = ['kubectl', ...(workloadKubeconfig === undefined ? [] : [`--kubeconfig=${workloadKubeconfig}`])];
  const renewals = outdated ? renewalsOf(shown, kubectl) : [];
  return { ...facts, total: totalOf(shown), profiles, renewals };
}

/** The totals omit the pods that Fargate refuses, because AWS does not bill them. */
function totalOf(pods: readonly FargatePod[]) {
  const count = (isCounted: (pod: FargatePod) => boolean): number => pods.filter(isCounted).length;
  const billed = pods.filter(({ state }) => state !== 'Refused');
  return {
    pods: pods.length,
    outdated: count(({ outdated }) => outdated),
    pending: count(({ state }) => state === 'Pending'),
    refused: pods.length - billed.length,
    vCPU: billed.reduce((sum, pod) => sum + (pod.billed?.vCPU ?? 0), 0),
    memoryGB: billed.reduce((sum, pod) => sum + (pod.billed?.memoryGB ?? 0), 0),
  };
}
