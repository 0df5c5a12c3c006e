import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { type Answer, type AwsAccess, openAws } from '../aws.ts';
import { type ExitCode, Failure, type Io, printJson, withProgress } from '../io.ts';
import { type KubeAccess, openKube, openWorkloadCluster } from '../kube.ts';
import type { CommonOptions } from '../program.ts';
import { decide } from './decide.ts';
import { findEbsVolumes, findViolations, sizeOf } from './fargate-limits.ts';
import { type Pod, podOf, readPodFile } from './pod.ts';
import type { EksView } from './profiles.ts';
import { findAccessEntryTrap, mergeProfiles, readEks, readManaged, unseenWithoutEks } from './profiles.ts';
import { type Explanation, formatExplanation, isFine } from './text.ts';

export interface ExplainOptions extends CommonOptions {
  readonly cluster?: string;
  readonly clusterNamespace?: string;
  readonly eksCluster?: string;
  readonly workloadKubeconfig?: string;
  readonly filename?: string;
}

/** What the command has opened. */
interface Access {
  readonly aws: AwsAccess;
  readonly management: KubeAccess | undefined;
  /** The cluster of the pod; `undefined` if the pod is in a file and no option names its cluster. */
  readonly workload: KubeAccess | undefined;
}

/** @throws Failure and the errors of the API server's client */
export async function runExplainPod(name: string | undefined, options: ExplainOptions, io: Io): Promise<ExitCode> {
  const { kubeconfig, context, clusterNamespace: namespace, cluster, eksCluster, filename } = options;
  if ((cluster === undefined) === (eksCluster === undefined))
    throw new Failure('name either a Cluster of Cluster API with --cluster, or an EKS cluster with --eks-cluster');
  if (name === undefined && filename === undefined) throw new Failure('name a pod, or a file with -f');
  const aws = openAws(options, io);
  let management: KubeAccess | undefined;
  let workload: KubeAccess | undefined;
  try {
    management = cluster === undefined ? undefined : openKube({ kubeconfig, context, namespace }, io);
    workload = await openWorkload(options, management, io);
    const access = { aws, management, workload };
    const work = () => explain(name, options, access, io);
    const explanation = await withProgress(io, 'Reading the pod and the Fargate profiles', work);
    if (options.output === 'json') printJson(io, explanation);
    else io.out(formatExplanation(explanation, io));
    return isFine(explanation) ? 0 : 2;
  } finally {
    await Promise.all([aws.close(), management?.close(), workload?.close()]);
  }
}

/** With --eks-cluster, the pod is in the cluster of --kubeconfig and --context, as for kubectl. */
async function openWorkload(options: ExplainOptions, management: KubeAccess | undefined, io: Io) {
  const { workloadKubeconfig, filename, cluster = '', kubeconfig, context, namespace } = options;
  if (workloadKubeconfig !== undefined) return openKube({ kubeconfig: workloadKubeconfig, namespace }, io);
  if (filename !== undefined) return undefined;
  if (management === undefined) return openKube({ kubeconfig, context, namespace }, io);
  return openWorkloadCluster(management, cluster, namespace, io);
}

/** Exported for tests, which have fakes of what the command opens. */
export async function explain(
  name: string | undefined,
  options: ExplainOptions,
  { aws, management, workload }: Access,
  io: Io,
): Promise<Explanation> {
  const pod = await readPod(name, options, workload, io);
  const { target, objects, unseen } = management
    ? await readManaged(management, options.cluster ?? '', io)
    : { target: eksTarget(options, aws), objects: [], unseen: [] };
  const answer = inAccountOf(objects, await readEks(aws, target));
  if (management === undefined && answer.kind === 'unseen')
    throw new Failure(
      `the Fargate profiles of EKS cluster ${target.name} in ${target.region} cannot be read: ${answer.why}`,
    );
  const eks = answer.kind === 'seen' ? answer.value : undefined;
  const profiles = mergeProfiles(objects, eks);
  const verdict = decide(pod, profiles, eks !== undefined, io.clock.now());
  const roleArn = eks?.profiles.find((profile) => profile.name === verdict.taker)?.roleArn;
  const entry = eks && roleArn ? await findAccessEntryTrap(aws, target, eks, roleArn) : undefined;
  const ebs = await findEbsVolumes(pod, workload?.client, io.signal);
  return {
    pod: { kind: pod.kind, namespace: pod.namespace, name: pod.name },
    ...verdict,
    traps: [...verdict.traps, ...(entry?.kind === 'seen' && entry.value !== undefined ? [entry.value] : [])],
    violations: [...findViolations(pod), ...ebs.violations],
    size: sizeOf(pod) ?? null,
    unseen: [
      ...(answer.kind === 'unseen' ? [`EKS: ${answer.why}`, ...unseenWithoutEks(objects)] : []),
      ...(entry?.kind === 'unseen' ? [`the access entry of the role: ${entry.why}`] : []),
      ...unseen,
      ...ebs.unseen,
    ],
  };
}

function eksTarget({ eksCluster: name = '' }: ExplainOptions, { region }: AwsAccess) {
  if (region === undefined) throw new Failure('the region of the EKS cluster is not known; name it with --region');
  return { name, region };
}

/** Another account may have an EKS cluster of the same name. */
function inAccountOf(objects: readonly AWSFargateProfile[], answer: Answer<EksView>): Answer<EksView> {
  const account = objects.find(({ status }) => status?.account !== undefined)?.status?.account;
  if (answer.kind === 'unseen' || account === undefined || account === answer.value.account) return answer;
  const why = `the credentials are of account ${answer.value.account}, but the profiles are in ${account}; `;
  return { kind: 'unseen', why: `${why}--profile or --role-arn chooses others` };
}

async function readPod(
  name: string | undefined,
  { filename, namespace }: ExplainOptions,
  workload: KubeAccess | undefined,
  io: Io,
): Promise<Pod> {
  if (filename !== undefined) return readPodFile(filename, name, namespace ?? workload?.namespace ?? 'default', io);
  if (workload === undefined || name === undefined) throw new TypeError('a pod without a name or a cluster');
  const { client, namespace: own, server } = workload;
  const pods = { group: '', version: 'v1', plural: 'pods' };
  const object = await client.get(pods, { namespace: own, name }, { signal: io.signal });
  const pod = object && podOf({ ...object, kind: 'Pod' }, own);
  if (pod === undefined)
    throw new Failure(`there is no pod ${own}/${name} in the cluster at ${server}; -n names its namespace`);
  return pod;
}
