import { Argument, Command, CommanderError, Option } from 'commander';
import { VERSION } from '../../pkg/version.ts';
import type { AwsOptions } from './aws.ts';
import { COMPLETION_SCRIPTS, findCompletions } from './completion.ts';
import type { DoctorOptions } from './doctor/run.ts';
import type { ExplainOptions } from './explain/run.ts';
import type { ImportOptions } from './import/run.ts';
import type { ExitCode, Io, OutputOption } from './io.ts';
import type { KubeOptions } from './kube.ts';
import type { PlanOptions } from './plan/run.ts';
import type { PodsOptions } from './pods/run.ts';
import { type Progress, showProgress } from './progress.ts';
import type { StatusOptions } from './status/run.ts';

export interface CommonOptions extends KubeOptions, AwsOptions, OutputOption {}

type End = (code: ExitCode) => void;

const NAMESPACE = new Option('-n, --namespace <name>', 'the namespace; default: that of the context');
const ALL_NAMESPACES = new Option('-A, --all-namespaces', 'all namespaces');
const MANAGER_NAMESPACE = new Option('--manager-namespace <name>', 'the namespace of the manager').default(
  'capaf-system',
);
const CLUSTER = new Option('--cluster <name>', 'the Cluster of Cluster API');
const CLUSTER_NAMESPACE = new Option(
  '--cluster-namespace <name>',
  'the namespace of the Cluster; default: that of the context',
);
const EKS_CLUSTER = new Option('--eks-cluster <name>', 'the EKS cluster, without Cluster API');
const WORKLOAD_KUBECONFIG = new Option(
  '--workload-kubeconfig <file>',
  "the kubeconfig of the pods' cluster; default: that of Cluster API's Secret",
);
const POD_CLUSTER = [CLUSTER, CLUSTER_NAMESPACE, EKS_CLUSTER, WORKLOAD_KUBECONFIG];
const IMPORT_SOURCES = ['live', 'eksctl', 'terraform', 'cloudformation', 'ack', 'crossplane', 'keiko'];

/** Loads a command only when it runs, because loading the AWS and Kubernetes clients takes the longest. */
export async function runCapaf(args: readonly string[], io: Io): Promise<ExitCode | 1> {
  let code: ExitCode | 1 = 0;
  const progress: Progress = new Set();
  const shown = showProgress(io, progress);
  const program = new Command('capaf')
    .description(
      'Answers questions about EKS Fargate profiles. It only reads: it changes nothing in AWS or Kubernetes.',
    )
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .showHelpAfterError('(capaf --help shows the commands)')
    .addHelpText('after', '\nExit codes: 0 nothing to do, 2 something to report, 1 an error.');
  for (const add of [addPlan, addExplain, addStatus, addPods, addImport, addDoctor])
    add(program, { ...io, progress }, (result) => {
      code = result;
    });
  program
    .command('version')
    .description('Print the version')
    .action(() => io.out(`${VERSION}\n`));
  program
    .command('completion')
    .description('Print the script with which a shell completes the words of a command line')
    .addArgument(new Argument('<shell>').choices(Object.keys(COMPLETION_SCRIPTS)))
    .action((shell: keyof typeof COMPLETION_SCRIPTS) => io.out(COMPLETION_SCRIPTS[shell]));
  program
    .command('complete [word...]', { hidden: true })
    .action((words: readonly string[]) => io.out(findCompletions(program, words)));
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 1;
  } finally {
    shown.end();
  }
  return code;
}

function addPlan(program: Command, io: Io, end: End): void {
  const examples = `
  capaf plan -A                                      what would change for all objects as they are
  capaf plan --delete web -n team-a                  what a deletion would do, and which pods it stops
  capaf plan -f fargate-profiles/ -n team-a          a folder, before it is applied
  kustomize build overlays/prod | capaf plan -f -    in the checks of a pull request: exit code 2 means changes, or an object that is not Ready`;
  addCommand(program, 'plan', [NAMESPACE, ALL_NAMESPACES, WORKLOAD_KUBECONFIG, MANAGER_NAMESPACE], examples)
    .description('Show what the controller would do, in order, and why it would wait')
    .argument('[name...]', 'the names of objects as they are; default: all of the namespace')
    .option('-f, --filename <file...>', 'manifests, applied or not: files, folders, or - for standard input')
    .option('--delete', 'plan the deletion of the objects')
    .action(async (names: readonly string[], options: PlanOptions) => {
      const { runPlan } = await import('./plan/run.ts');
      end(await runPlan(names, options, io));
    });
}

function addExplain(program: Command, io: Io, end: End): void {
  const examples = `
  capaf explain pod web-7d9c -n shop --cluster prod
  capaf explain pod -f deployment.yaml --cluster prod
  capaf explain pod web-7d9c -n shop --eks-cluster prod --region eu-west-1`;
  const explain = program.command('explain').description('Explain what happens to a pod');
  addCommand(explain, 'pod', [NAMESPACE, ...POD_CLUSTER], examples)
    .description('Show which Fargate profile takes a pod, why the others do not, and why Fargate refuses it')
    .argument('[name]', 'the name of the pod, or of an object in the file of -f')
    .option('-f, --filename <file>', 'a manifest of a pod or of a workload that creates pods; - is standard input')
    .action(async (name: string | undefined, options: ExplainOptions) => {
      const { runExplainPod } = await import('./explain/run.ts');
      end(await runExplainPod(name, options, io));
    });
}

function addStatus(program: Command, io: Io, end: End): void {
  const examples = `
  capaf status -A                                       all objects of the management cluster
  capaf status web -n team-a -o json
  capaf status --eks-cluster prod --region eu-west-1    an EKS cluster that Cluster API does not manage`;
  addCommand(program, 'status', [NAMESPACE, ALL_NAMESPACES, EKS_CLUSTER, WORKLOAD_KUBECONFIG], examples)
    .description('Show each AWSFargateProfile with what belongs to it in Kubernetes and AWS, and what is wrong')
    .argument('[name...]', 'the names of the objects; default: all of the namespace')
    .option('--cluster <name>', 'only the objects of this Cluster of Cluster API')
    .action(async (names: readonly string[], options: StatusOptions) => {
      const { runStatus } = await import('./status/run.ts');
      end(await runStatus(names, options, io));
    });
}

function addPods(program: Command, io: Io, end: End): void {
  const examples = `
  capaf pods -A --cluster prod                          all pods on Fargate, with totals
  capaf pods -A --cluster prod --outdated               what to restart before an upgrade of EKS
  capaf pods -n shop --eks-cluster prod --workload-kubeconfig prod.kubeconfig`;
  addCommand(program, 'pods', [ALL_NAMESPACES, ...POD_CLUSTER], examples)
    .description(
      'List the pods on Fargate by profile: size, version against the control plane, and whether they can be evicted',
    )
    .option('-n, --namespace <name>', 'the namespace of the pods; default: that of the context')
    .option('--profile-name <name>', 'only the pods of this Fargate profile')
    .option('--outdated', 'only pods on nodes that are older than the control plane, and the commands that renew them')
    .action(async (options: PodsOptions) => {
      const { runPods } = await import('./pods/run.ts');
      end(await runPods(options, io));
    });
}

function addImport(program: Command, io: Io, end: End): void {
  const examples = `
  capaf import --from live --eks-cluster prod --region eu-west-1 -n team-a > profiles.yaml
  terraform show -json | capaf import --from terraform --cluster prod -n team-a -

The output has only manifests, which are paused, and comments. Exit codes: 0 all can be taken over as they are, or
have an AWSFargateProfile already; 2 a profile differs from AWS, is not in AWS, or lacks values that only AWS knows; 1 an error.`;
  addCommand(program, 'import', [], examples)
    .description('Print an AWSFargateProfile for each existing Fargate profile, and the steps that take it over')
    .argument('[FILE...]', 'files and folders, or - for standard input; without, --from live reads AWS')
    .option('-f, --filename <file...>', 'the same as FILE')
    .addOption(new Option('--from <source>', 'required: what has the profiles now').choices(IMPORT_SOURCES))
    .option('-n, --namespace <name>', 'required: the namespace of the objects')
    .option('--cluster <name>', 'the name of the Cluster in spec.clusterName of the objects')
    .option('--eks-cluster <name>', 'the EKS cluster of the profiles; without --cluster, the objects name it')
    .action(async (files: readonly string[], options: ImportOptions) => {
      const { runImport } = await import('./import/run.ts');
      end(await runImport(files, options, io));
    });
}

function addDoctor(program: Command, io: Io, end: End): void {
  const examples = `
  capaf doctor                               the installation, with the credentials that the AWS SDK finds
  capaf doctor --cluster prod                also whether CoreDNS of this Cluster runs
  capaf doctor --scan-roles --profile prod   also roles that are left over, in the account of a profile`;
  addCommand(program, 'doctor', [MANAGER_NAMESPACE, CLUSTER, CLUSTER_NAMESPACE, WORKLOAD_KUBECONFIG], examples)
    .description('Check the installation: versions, CRD, permissions, leader, capacity, and what is left over in AWS')
    .option('--scan-roles', 'also look for IAM roles without an object, among all roles of the account')
    .action(async (options: DoctorOptions) => {
      const { runDoctor } = await import('./doctor/run.ts');
      end(await runDoctor(options, io));
    });
}

const COMMON_OPTIONS: readonly Option[] = [
  new Option('--kubeconfig <file>', 'the kubeconfig of the management cluster'),
  new Option('--context <name>', 'the context of the kubeconfig'),
  new Option('--profile <name>', 'a profile of the shared AWS configuration files'),
  new Option('--region <name>', 'the AWS region'),
  new Option('--role-arn <arn>', 'an IAM role that the credentials assume'),
  new Option('-o, --output <format>', 'the format').choices(['text', 'json']).default('text'),
];

function addCommand(parent: Command, name: string, options: readonly Option[], examples: string): Command {
  const of = parent.name() === 'capaf' ? name : `${parent.name()} ${name}`;
  const command = parent
    .command(name)
    .addHelpText('after', `\nExamples:${examples}`)
    .showHelpAfterError(`(capaf ${of} --help shows its options)`);
  for (const option of [...COMMON_OPTIONS, ...options]) command.addOption(option);
  return command;
}
