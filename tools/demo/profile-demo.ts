import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellCommand } from 'controller-runtime/text';
import { leftovers } from '../../test/aws/admin/expect-nothing-left.ts';
import { kubectl } from '../../test/envtest/clients/kubectl.ts';
import { AWS_KEY } from '../../test/world/world.ts';
import { listAwsResources } from './output/aws-resources.ts';
import type { ProfileProgress } from './output/profile-progress.ts';
import type { Printer } from './output/printer.ts';
import type { ProfileWatcher } from './profile-watcher.ts';
import { lastLogLines, createEksClusters, type DemoEnvironment } from './environment.ts';

export const CLUSTER_MANIFEST = fileURLToPath(new URL('cluster.yaml', import.meta.url));
const CAPAF = fileURLToPath(new URL('../../dist/capaf.mjs', import.meta.url));
const POD_MANIFEST = fileURLToPath(new URL('pod.yaml', import.meta.url));
const SAMPLE_MANIFESTS = fileURLToPath(new URL('../../config/samples', import.meta.url));

/**
 * The time limits of the waits for an AWSFargateProfile. A wait usually takes seconds, but can take much longer on a
 * busy machine.
 */
const READY_WITHIN_MS = 60_000;
const GONE_WITHIN_MS = 60_000;

export interface DemoContext {
  readonly printer: Printer;
  readonly environment: DemoEnvironment;
  readonly profiles: ProfileWatcher;
  readonly progress: ProfileProgress;
}

/** @throws when the AWSFargateProfile does not become Ready within the time limit */
export async function showProfileCreation(context: DemoContext): Promise<void> {
  const { printer, environment, profiles, progress } = context;
  printer.heading('Create a Cluster with its control plane');
  await runKubectl(context, ['apply', '-f', relativePath(CLUSTER_MANIFEST)]);
  await createEksClusters(environment, CLUSTER_MANIFEST);

  printer.heading('Create an AWSFargateProfile for the Cluster');
  await progress.runCommand(() => runKubectl(context, ['apply', '-f', relativePath(SAMPLE_MANIFESTS)]));
  await withManagerLog(environment, profiles.untilReady(READY_WITHIN_MS));

  printer.heading('Resources in AWS');
  printAwsResources(printer, listAwsResources(await environment.aws.snapshot()));

  printer.heading('Status in Kubernetes');
  await runKubectl(context, ['get', 'awsfargateprofiles']);
}

/** @throws when the AWSFargateProfile still exists after the time limit, or when its resources still exist in AWS */
export async function showProfileDeletion(context: DemoContext): Promise<void> {
  const { printer, environment, profiles, progress } = context;
  printer.line();
  await runKubectl(context, ['describe', 'awsfargateprofiles']);

  printer.heading('Delete the AWSFargateProfile');
  await progress.runCommand(() =>
    runKubectl(context, ['delete', '-f', relativePath(SAMPLE_MANIFESTS), '--wait=false']),
  );
  await withManagerLog(environment, profiles.untilGone(GONE_WITHIN_MS));

  printer.heading('Remaining resources in AWS');
  const snapshot = await environment.aws.snapshot();
  printAwsResources(printer, listAwsResources(snapshot));
  const left = leftovers(snapshot);
  if (left.length > 0) throw new Error(`the object is deleted, but AWS still has: ${left.join(', ')}`);

  printer.heading('Remaining objects in Kubernetes');
  await runKubectl(context, ['get', 'awsfargateprofiles']);
}

export type Suggestion = readonly [words: string, command: string];

/** Prints the shell variables and the alias that the suggested commands use. */
export function printShellSetUp({ printer, environment }: Pick<DemoContext, 'printer' | 'environment'>): void {
  const { controlPlane, awsUrl } = environment;
  printer.heading('Try these commands in another terminal');
  printer.line(`  ${shellCommand(['export', `KUBECONFIG=${controlPlane.kubeconfigPath}`])}`);
  printer.line(`  ${aliasCommand('kubectl', [controlPlane.kubectlPath])}`);
  printer.line(`  emulator=${awsUrl}/_emulator`);
}

/**
 * Returns a command that defines the shell alias `name` for the command `words`. The words are quoted twice, because
 * the shell parses them twice: when it defines the alias, and when it runs the alias.
 */
const aliasCommand = (name: string, words: readonly string[]): string =>
  shellCommand(['alias', `${name}=${shellCommand(words)}`]);

/** Prints the variables with which capaf reads the emulated AWS. */
function printCapafSetUp(printer: Printer, awsUrl: string, region: string): void {
  printer.line(`  export AWS_ENDPOINT_URL=${awsUrl} AWS_REGION=${region}`);
  printer.line(`  export AWS_ACCESS_KEY_ID=${AWS_KEY} AWS_SECRET_ACCESS_KEY=any`);
  // The Node.js of the user's shell may be too old for capaf, so the alias uses the Node.js of the demo.
  printer.line(`  ${aliasCommand('capaf', [process.execPath, CAPAF])}`);
}

export function printSuggestions(printer: Printer, suggestions: readonly Suggestion[]): void {
  for (const [words, command] of suggestions) {
    printer.line();
    printer.line(`  # ${words}`);
    printer.line(`  ${command}`);
  }
}

/** Prints commands that the user can try while the demo keeps running. */
export async function showNextSteps({ printer, environment }: DemoContext): Promise<void> {
  const { aws, manager } = environment;
  const { region = '', cluster, name } = (await aws.profiles())[0] ?? {};
  printShellSetUp({ printer, environment });
  printCapafSetUp(printer, environment.awsUrl, region);
  const suggestions: readonly Suggestion[] = [
    [
      'What the controller would do for a change, before it is applied',
      "kubectl get awsfp web -o yaml | sed 's/4711/4712/' | capaf plan -f -",
    ],
    [
      'Which profile a pod runs on, and why',
      shellCommand(['capaf', 'explain', 'pod', '-f', POD_MANIFEST, '--cluster', 'my-cluster']),
    ],
    ['Find problems in the installation', 'capaf doctor'],
    ['Show the conditions and events of the profile', 'kubectl describe awsfp web'],
    ['Watch the profiles with all columns', 'kubectl get awsfp -o wide -w'],
    ['Change a tag, then a subnet (which EKS cannot change)', 'kubectl edit awsfp web'],
    ['List the profiles in AWS (roles and calls work the same way)', 'curl -s $emulator/profiles | jq'],
    [
      'Delete the profile in AWS; the manager recreates it within seconds',
      `curl -s $emulator/removeProfile -d '${JSON.stringify({ region, cluster, name })}'`,
    ],
    ['Follow the log of the manager, with each AWS call', `tail -f ${manager.logPath}`],
    ['Delete the profile and its role', 'kubectl delete awsfp web'],
  ];
  printSuggestions(printer, suggestions);
  printer.line('\nChanges of profiles appear below. Ctrl-C ends everything and removes all files.\n');
}

export function printAwsResources(printer: Printer, resources: ReturnType<typeof listAwsResources>): void {
  for (const resource of resources) {
    printer.line();
    for (const [label, values] of resource) {
      for (const [index, value] of values.entries()) printer.row([index === 0 ? `  ${label}` : '', value], [20]);
    }
  }
}

/** Runs kubectl, and prints the kubectl command line and its output. */
export async function runKubectl(
  { printer, environment }: Pick<DemoContext, 'printer' | 'environment'>,
  args: readonly string[],
): Promise<void> {
  printer.command(`kubectl ${args.join(' ')}`);
  const { code, stdout, stderr } = await kubectl(environment.controlPlane, args);
  printer.line(`${stdout}${stderr}`.trimEnd());
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with exit code ${code}`);
}

export async function withManagerLog(environment: DemoEnvironment, waiting: Promise<void>): Promise<void> {
  try {
    await waiting;
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new Error(`${words}\n${lastLogLines(environment.manager)}`, { cause: error });
  }
}

/** Returns the path relative to the current directory, as a user would type it. */
export const relativePath = (path: string): string => relative(process.cwd(), path);
