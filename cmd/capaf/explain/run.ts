import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName } from '../../../api/names.ts';
import { type AwsAccess, attempt, openAws, seenIn, unseenIn } from '../aws.ts';
import { type ExitCode, Failure, type Io, tell } from '../io.ts';
import { type KubeAccess, openKube, openWorkloadCluster } from '../kube.ts';
import type { CommonOptions } from '../program.ts';
import { decide } from './decide.ts';
import { findEbsVolumes, findViolations, sizeOf } from './fargate-limits.ts';
import { type Pod, podOf, readPodFile } from './pod.ts';
import { mergeProfiles, readEks, readManaged } from './profiles.ts';
import { type Explanation, formatExplanation, isFine } from './text.ts';
import { findTraps } from './traps.ts';

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
  await using aws = openAws(options, io);
  await using management = cluster === undefined ? undefined : openKube({ kubeconfig, context, namespace }, io);
  await using workload = await openWorkload(options, management, io);
  const explanation = await explain(name, options, { aws, management, workload }, io);
  return tell(io, options, explanation, formatExplanation(explanation), isFine(explanation));
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
  const { target, objects, unreadable } = management
    ? await readManaged(management, options.cluster ?? '', io)
    : { target: eksTarget(options, aws), objects: [], unreadable: [] };
  const eks = await attempt(() => readEks(aws, target, objects));
  if (management === undefined && E.isLeft(eks))
    throw new Failure(
      `the Fargate profiles of EKS cluster ${target.name} in ${target.region} cannot be read: ${eks.left}`,
    );
  const inEks = E.isRight(eks) ? eks.right.profiles : undefined;
  const verdict = decide(pod, mergeProfiles(objects, inEks), inEks !== undefined, io.clock.now());
  const taker = inEks?.find((profile) => profile.name === verdict.taker);
  const traps = E.isRight(eks) && taker !== undefined ? await findTraps(aws, eks.right.session, taker) : [];
  const volumes = await findEbsVolumes(pod, workload?.client, io.signal);
  return {
    ...verdict,
    traps: [...verdict.traps, ...seenIn(traps)],
    violations: [...findViolations(pod), ...seenIn(volumes)],
    size: sizeOf(pod) ?? null,
    unseen: [
      ...unseenIn([['EKS', eks]]),
      ...(inEks === undefined
        ? ['profiles without an AWSFargateProfile in this namespace: one of them may take the pod']
        : []),
      ...unseenIn(traps),
      ...unreadable,
      ...unseenIn(volumes),
    ],
  };
}

function eksTarget({ eksCluster: name = '' }: ExplainOptions, { region }: AwsAccess) {
  if (region === undefined) throw new Failure('the region of the EKS cluster is not known; name it with --region');
  return { name: EksClusterName.of(name), region };
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
