import { setTimeout as delay } from 'node:timers/promises';
import type { RawObject } from '../../test/envtest/clients/api.ts';
import { PROFILE_LABEL, WorkloadCluster, isReady } from '../../test/world/workload/workload-cluster.ts';
import { printComponent } from './environment.ts';
import { listAwsResources } from './output/aws-resources.ts';
import { MIN_AVAILABLE, NAMESPACE, REPLICAS, playDeployment } from './played-deployment.ts';
import { type DemoContext, printAwsResources, runKubectl, withManagerLog } from './profile-demo.ts';

/**
 * The time limit of the replacement. The controller evicts pods only after the new profile has been ACTIVE for 30 s,
 * and evictions are ten seconds apart. A busy machine takes longer.
 */
const DONE_WITHIN_MS = 240_000;
const TICK_MS = 100;
const CHANGE = {
  spec: {
    updateStrategy: { type: 'Replace', replace: { drainTimeout: '2m' } },
    selectors: [{ namespace: NAMESPACE }, { namespace: 'batch' }],
  },
};

/**
 * Starts pods in a second API server, that of the EKS cluster. Changes the selectors of the AWSFargateProfile `web`,
 * and shows how the pods move from the old Fargate profile to the new one.
 * @throws if fewer pods are Ready than the PodDisruptionBudget requires, or if the old profile stays
 */
export async function showReplacement(context: DemoContext, interrupt: Promise<never>): Promise<void> {
  const { printer, environment } = context;
  const { cluster = '', region = '' } = (await environment.aws.profiles())[0] ?? {};
  printer.heading('Run pods in the EKS cluster');
  const groups = ['system:masters'];
  const workload = await WorkloadCluster.start(environment.aws, { name: cluster, region, groups });
  try {
    printComponent(printer, 'API server of the EKS cluster', workload.controlPlane.url);
    printComponent(printer, 'Stand-ins', 'aws-iam-authenticator, the Fargate scheduler, kubelet and ReplicaSet');
    await Promise.race([movePods(context, workload), interrupt]);
  } finally {
    await workload.stop();
  }
}

async function movePods(context: DemoContext, workload: WorkloadCluster): Promise<void> {
  const { printer, environment, profiles, progress } = context;
  const stop = new AbortController();
  const { signal } = stop;
  const pods = new PodProgress(workload, (line) => printer.line(line));
  const playing = Promise.all([playDeployment(workload.controlPlane.api, signal), pods.follow(signal)]);
  const failed = playing.then(() => Promise.reject<void>(new Error('the stand-ins have ended')));
  try {
    await Promise.race([pods.untilAllReady(), failed]);
    workload.watchReady();

    printer.heading('Change the selectors, which EKS cannot change in an existing profile');
    const change = ['patch', 'awsfp', 'web', '--type=merge', `--patch=${JSON.stringify(CHANGE)}`];
    await progress.runCommand(() => runKubectl(context, change));
    const done = profiles.until('the end of the old profile', DONE_WITHIN_MS, ({ metadata, spec, status }) => {
      // Until the watch sends the changed object, the watcher has the earlier object, which meets the other conditions.
      const isChanged = spec?.['updateStrategy'] !== undefined;
      const isObserved = status?.['observedGeneration'] === metadata.generation;
      return isChanged && isObserved && status?.['predecessors'] === undefined && status?.['ready'] === true;
    });
    await withManagerLog(environment, Promise.race([done, failed]));
  } finally {
    stop.abort();
    failed.catch(() => undefined);
  }
  await playing;
  const { fewestReady } = workload;
  if (fewestReady < MIN_AVAILABLE) throw new Error(`for a moment, only ${fewestReady} pods were Ready`);
  printer.line(`\nAt least ${fewestReady} pods were Ready at any time, as the PodDisruptionBudget demands.`);

  printer.heading('Resources in AWS');
  printAwsResources(printer, listAwsResources(await environment.aws.snapshot()));
  printer.heading('Status in Kubernetes');
  await runKubectl(context, ['describe', 'awsfargateprofiles']);
}

/** Prints on which Fargate profiles the Ready pods run, after each change. */
class PodProgress {
  private readonly workload: WorkloadCluster;
  private readonly print: (line: string) => void;
  private last = '';
  private readonly allReady = Promise.withResolvers<void>();

  constructor(workload: WorkloadCluster, print: (line: string) => void) {
    this.workload = workload;
    this.print = print;
  }

  untilAllReady(): Promise<void> {
    return this.allReady.promise;
  }

  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.show((await this.workload.pods()).filter(isReady));
      await delay(TICK_MS);
    }
  }

  private show(ready: readonly RawObject[]): void {
    const profiles = ready.map(({ metadata }) => metadata.labels?.[PROFILE_LABEL] ?? '');
    const counts = [...new Set(profiles)].toSorted().map((name) => {
      const count = profiles.filter((each) => each === name).length;
      return `${count} on ${name}`;
    });
    const line = `  ${ready.length} of ${REPLICAS} pods are Ready: ${counts.join(', ')}`;
    if (ready.length > 0 && line !== this.last) this.print(line);
    this.last = line;
    if (ready.length === REPLICAS) this.allReady.resolve();
  }
}
