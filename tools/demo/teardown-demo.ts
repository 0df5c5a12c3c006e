import { fileURLToPath } from 'node:url';
import { leftovers } from '../../test/aws/admin/expect-nothing-left.ts';
import type { ControlPlane } from '../../test/envtest/control-plane/controlplane.ts';
import { managedCluster, simulateCoreManager } from '../../test/world/cluster-api/managed-cluster.ts';
import { ClusterProgress } from './output/cluster-progress.ts';
import { startOtherControllers } from './other-controllers.ts';
import type { Printer } from './output/printer.ts';
import { CLUSTER_MANIFEST, relativePath, withManagerLog, runKubectl } from './profile-demo.ts';
import { type DemoEnvironment, createEksClusters, startEnvironment } from './environment.ts';
import type { StopConditions } from './stop-conditions.ts';

const PROFILES = fileURLToPath(new URL('three-profiles.yaml', import.meta.url));
const NAME = 'my-cluster';

/** How long the emulated EKS takes for its operations. The real EKS takes minutes. */
const EKS = { createMs: 1_000, deleteMs: 2_000, clusterDeleteMs: 1_500 };
/**
 * The time limit of each wait in the demo. A wait usually takes seconds, but can take much longer on a busy machine.
 */
const TIMEOUT_MS = 120_000;

interface TeardownContext {
  readonly printer: Printer;
  readonly environment: DemoEnvironment;
  readonly progress: ClusterProgress;
}

/**
 * Shows the teardown of a cluster with three AWSFargateProfiles. Rejects when the user interrupts the demo or when one
 * of the processes of the demo exits.
 */
export async function runTeardownDemo(
  printer: Printer,
  controlPlane: ControlPlane,
  { signal, interrupt }: Pick<StopConditions, 'signal' | 'interrupt'>,
): Promise<void> {
  const progress = new ClusterProgress(controlPlane.api, printer);
  const onDeleteAttempt = reportDeleteAttempts(progress);
  const starting = startEnvironment(printer, controlPlane, {
    others: (environment) => startOtherControllers(printer, environment, onDeleteAttempt),
  });
  const environment = await Promise.race([starting, interrupt]);
  try {
    const processExited = Promise.race([environment.processExited, progress.follow(signal)]);
    const context = { printer, environment, progress };
    for (const step of [showClusterCreation, showClusterDeletion, showLeftovers]) {
      await Promise.race([step(context), interrupt, processExited]);
    }
  } finally {
    await environment.otherControllers?.capa.stop();
  }
}

/**
 * Returns a callback that gets the result of each attempt to delete the EKS cluster. The callback prints the first
 * refusal by EKS. After EKS has deleted the cluster, the callback prints the number of refusals.
 */
function reportDeleteAttempts(progress: ClusterProgress): (words: string) => void {
  let refusals = 0;
  return (words) => {
    if (words === 'deleted') {
      progress.print('AWS provider', `EKS deleted the cluster after ${refusals} refusals`);
      return;
    }
    if (refusals === 0) progress.print('AWS provider', `EKS refuses to delete the cluster: ${words}`);
    refusals += 1;
  };
}

async function showClusterCreation({ printer, environment, progress }: TeardownContext): Promise<void> {
  await environment.aws.setConfig({ eks: EKS, iam: { trustVisibleToEksMs: 0 } });
  printer.heading('Create a Cluster with its control plane and three AWSFargateProfiles');
  await runKubectl({ printer, environment }, ['apply', '-f', relativePath(CLUSTER_MANIFEST)]);
  await createEksClusters(environment, CLUSTER_MANIFEST);
  if (!hasCoreManager(environment)) await simulateCoreManager(environment, managedCluster(NAME));
  await progress.runCommand(() => runKubectl({ printer, environment }, ['apply', '-f', relativePath(PROFILES)]));
  const isReady = (conditions: readonly { readonly type: string; readonly status: string }[] = []): boolean =>
    conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  await withManagerLog(
    environment,
    progress.until(
      'all profiles being Ready',
      TIMEOUT_MS,
      ['AWSFargateProfile'],
      (profiles) => profiles.length === 3 && profiles.every(({ status }) => isReady(status?.conditions)),
    ),
  );
  printer.line();
  await runKubectl({ printer, environment }, ['get', 'awsfargateprofiles']);
}

async function showClusterDeletion({ printer, environment, progress }: TeardownContext): Promise<void> {
  printer.heading(hasCoreManager(environment) ? 'Delete the Cluster' : 'Delete the control plane');
  const what = hasCoreManager(environment) ? ['cluster', NAME] : ['awsmanagedcontrolplane', `${NAME}-control-plane`];
  await progress.runCommand(() => runKubectl({ printer, environment }, ['delete', ...what, '--wait=false']));
  const kinds = hasCoreManager(environment)
    ? (['Cluster', 'AWSManagedControlPlane', 'AWSManagedCluster', 'AWSFargateProfile'] as const)
    : (['AWSManagedControlPlane', 'AWSFargateProfile'] as const);
  await withManagerLog(
    environment,
    progress.until('the end of everything', TIMEOUT_MS, kinds, (objects) => objects.length === 0),
  );
  if (hasCoreManager(environment)) return;
  printer.heading('Delete the Cluster');
  await progress.runCommand(() =>
    runKubectl({ printer, environment }, ['delete', '-f', relativePath(CLUSTER_MANIFEST), '--ignore-not-found']),
  );
}

async function showLeftovers({ printer, environment }: TeardownContext): Promise<void> {
  printer.heading('Remaining resources');
  await runKubectl({ printer, environment }, [
    'get',
    'clusters,awsmanagedcontrolplanes,awsmanagedclusters,awsfargateprofiles',
  ]);
  const snapshot = await environment.aws.snapshot();
  const left = [...leftovers(snapshot), ...snapshot.clusters.map(({ arn }) => arn)];
  for (const each of left) printer.line(`  in AWS: ${each}`);
  if (left.length > 0) throw new Error('the objects are deleted, but AWS still has resources');
  printer.line('  in AWS: no EKS cluster, no Fargate profile, no IAM role of the profiles');
}

/**
 * Reports whether Cluster API's core manager runs. When a user deletes a Cluster, the core manager deletes the objects
 * that belong to the Cluster.
 */
const hasCoreManager = ({ otherControllers }: DemoEnvironment): boolean =>
  (otherControllers?.processes.length ?? 0) > 0;
