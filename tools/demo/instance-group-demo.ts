import { fileURLToPath } from 'node:url';
import { eventually } from '../../test/support/eventually.ts';
import { leftovers } from '../../test/aws/admin/expect-nothing-left.ts';
import type { ControlPlane } from '../../test/envtest/control-plane/controlplane.ts';
import { CAPA_TRUST, EKS_POLICY } from '../../test/world/aws/capa-resources.ts';
import { ACCOUNT, REGION } from '../../test/world/world.ts';
import { type DemoEnvironment, startEnvironment } from './environment.ts';
import { listAwsResources } from './output/aws-resources.ts';
import { ClusterProgress } from './output/cluster-progress.ts';
import type { Printer } from './output/printer.ts';
import {
  printAwsResources,
  printShellSetUp,
  printSuggestions,
  relativePath,
  runKubectl,
  withManagerLog,
} from './profile-demo.ts';
import type { StopConditions } from './stop-conditions.ts';

const CRD = fileURLToPath(new URL('../../config/keiko', import.meta.url));
const MANIFEST = fileURLToPath(new URL('instance-group.yaml', import.meta.url));
const INSTANCE_GROUPS = '/apis/instancemgr.keikoproj.io/v1alpha1/instancegroups';
const EKS_CLUSTER = 'the-cluster-for-my-pods';
const SUBNETS = ['subnet-1a2b3c4d', 'subnet-4d3c2b1a', 'subnet-0w9x8y7z'];
/**
 * The time limit of each wait in the demo. A wait usually takes seconds, but can take much longer on a busy machine.
 */
const TIMEOUT_MS = 60_000;

interface GroupDemoContext {
  readonly printer: Printer;
  readonly environment: DemoEnvironment;
  readonly progress: ClusterProgress;
}

/**
 * Shows how the InstanceGroup in the documentation of keiko becomes Ready. Then waits for `stopped`; without `stopped`,
 * shows how the InstanceGroup is deleted. Rejects when the user interrupts a step before the wait for `stopped`, or
 * when one of the processes of the demo exits.
 */
export async function runInstanceGroupDemo(
  printer: Printer,
  controlPlane: ControlPlane,
  { signal, interrupt, stopped }: StopConditions,
): Promise<void> {
  const flags = ['--instance-groups', `--allow-eks-cluster=default=${ACCOUNT}/${REGION}/*`];
  const environment = await Promise.race([startEnvironment(printer, controlPlane, { flags }), interrupt]);
  const progress = new ClusterProgress(controlPlane.api, printer, ['InstanceGroup', 'AWSFargateProfile']);
  const context = { printer, environment, progress };
  await Promise.race([installCrd(context), interrupt, environment.processExited]);
  const processExited = Promise.race([environment.processExited, progress.follow(signal)]);
  await Promise.race([showCreation(context), interrupt, processExited]);
  if (stopped === undefined) {
    await Promise.race([showDeletion(context), interrupt, processExited]);
  } else {
    showNextSteps(context);
    await Promise.race([stopped, processExited]);
  }
}

/** Installs the CRD of keiko's InstanceGroups. The manager already runs, and waits until the CRD exists. */
async function installCrd({ printer, environment }: GroupDemoContext): Promise<void> {
  printer.heading('Install the CRD of InstanceGroups');
  await runKubectl({ printer, environment }, ['apply', '--server-side', '-k', relativePath(CRD)]);
  const wait = ['wait', '--for=condition=Established', '--timeout=3m', 'crd/instancegroups.instancemgr.keikoproj.io'];
  await runKubectl({ printer, environment }, wait);
  // The API server answers requests for keiko InstanceGroups with 429 for a moment after their CRD is established.
  const isServed = async (): Promise<boolean> =>
    (await environment.controlPlane.api.request('GET', INSTANCE_GROUPS)).status === 200;
  await eventually(isServed, { what: 'InstanceGroups being served', timeoutMs: TIMEOUT_MS });
}

async function showCreation({ printer, environment, progress }: GroupDemoContext): Promise<void> {
  await environment.aws.createCluster({ name: EKS_CLUSTER, region: REGION, subnets: SUBNETS.map((id) => ({ id })) });
  await environment.aws.putRole({ name: 'MyPodRole', trustPolicy: CAPA_TRUST, attachedPolicies: [EKS_POLICY] });
  printer.heading('Create the InstanceGroup in the documentation of keiko, in an EKS cluster without Cluster object');
  await progress.runCommand(() => runKubectl({ printer, environment }, ['apply', '-f', relativePath(MANIFEST)]));
  await withManagerLog(
    environment,
    progress.until('the InstanceGroup being Ready', TIMEOUT_MS, ['InstanceGroup'], (groups) =>
      groups.some(({ status }) => status?.['currentState'] === 'Ready'),
    ),
  );
  printer.heading('Resources in AWS');
  printAwsResources(printer, listAwsResources(await environment.aws.snapshot()));
  printer.heading('Status in Kubernetes');
  await runKubectl({ printer, environment }, ['get', 'instancegroups,awsfargateprofiles']);
  printer.line();
  await runKubectl({ printer, environment }, ['describe', 'instancegroups']);
}

async function showDeletion({ printer, environment, progress }: GroupDemoContext): Promise<void> {
  printer.heading('Delete the InstanceGroup');
  const command = ['delete', '-f', relativePath(MANIFEST), '--wait=false'];
  await progress.runCommand(() => runKubectl({ printer, environment }, command));
  await withManagerLog(
    environment,
    progress.until(
      'the end of everything',
      TIMEOUT_MS,
      ['InstanceGroup', 'AWSFargateProfile'],
      (left) => left.length === 0,
    ),
  );
  printer.heading('Remaining resources in AWS');
  const snapshot = await environment.aws.snapshot();
  printAwsResources(printer, listAwsResources(snapshot));
  const left = leftovers(snapshot);
  if (left.length > 0) throw new Error(`the objects are deleted, but AWS still has: ${left.join(', ')}`);
}

function showNextSteps({ printer, environment }: GroupDemoContext): void {
  printShellSetUp({ printer, environment });
  printSuggestions(printer, [
    ['Watch the groups with their messages', 'kubectl get ig -o wide -w'],
    ['Change a tag, then a subnet (which EKS cannot change)', 'kubectl edit ig hello-world'],
    ['List the profiles in AWS', 'curl -s $emulator/profiles | jq'],
    ['Delete the group and its profile', 'kubectl delete ig hello-world'],
  ]);
  printer.line('\nChanges of objects appear below. Ctrl-C ends everything and removes all files.\n');
}
