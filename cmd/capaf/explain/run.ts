import { styleText } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName } from '../../../api/names.ts';
import { toPrintableLine } from '../../../pkg/env/printable.ts';
import { describeSelectors } from '../../../pkg/fargate/selectors.ts';
import { type AwsAccess, attempt, openAws, seenIn, unseenIn } from '../aws.ts';
import { type ExitCode, Failure, type Io, alignColumns, tell } from '../io.ts';
import { type KubeAccess, openKube, openWorkloadCluster } from '../kube.ts';
import type { CommonOptions } from '../program.ts';
import { type ProfileVerdict, type Verdict, decide } from './decide.ts';
import { type Violation, findEbsVolumes, findViolations, sizeOf } from './fargate-limits.ts';
import { podOf, readPodFile } from './pod.ts';
import { mergeProfiles, readEks, readManaged } from './profiles.ts';
import type { Size } from './size.ts';
import { findTraps } from './traps.ts';

export interface ExplainOptions extends CommonOptions {
  readonly cluster?: string;
  readonly clusterNamespace?: string;
  readonly eksCluster?: string;
  readonly workloadKubeconfig?: string;
  readonly filename?: string;
}

/** What the command tells, in the shape of `-o json`. */
export interface Explanation extends Verdict {
  readonly violations: readonly Violation[];
  /** `null` if the pod is larger than the largest size. */
  readonly size: Size | null;
  /** What could change the answer and was not seen, with the reason. */
  readonly unseen: readonly string[];
}

interface Access {
  readonly aws: AwsAccess;
  readonly management: KubeAccess | undefined;
  /** The cluster of the pod; `undefined` if the pod is in a file and no option names its cluster. */
  readonly workload: KubeAccess | undefined;
}

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
  return openWorkloadCluster(management, cluster, io, namespace);
}

/** Exported for tests, which have fakes of what the command opens. */
export async function explain(name: string | undefined, options: ExplainOptions, access: Access, io: Io) {
  const { aws, management, workload } = access;
  const pod = await readPod(name, options, workload, io);
  const { target, objects, unreadable } = management
    ? await readManaged(management, options.cluster ?? '', io)
    : { target: eksTarget(options, aws), objects: [], unreadable: [] };
  const eks = await attempt(() => readEks(aws, target.name, target.region, objects));
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

async function readPod(name: string | undefined, options: ExplainOptions, workload: Access['workload'], io: Io) {
  const { filename, namespace } = options;
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

const isFine = ({ taker, violations, traps }: Explanation): boolean =>
  taker !== null && violations.length === 0 && traps.length === 0;

export function formatExplanation(explanation: Explanation): string {
  const { summary, taker, profiles, violations, traps, size, unseen } = explanation;
  const refused = violations.length === 0 ? '' : ' Fargate cannot run it as it is.';
  const columns = (rows: readonly (readonly string[])[]) => alignColumns(rows.map((row) => row.map(toPrintableLine)));
  const rows = profiles.flatMap((profile) => rowsOf(profile, taker));
  const refusals = columns(violations.map(({ field, message }) => [field, message]));
  const sections = [
    [styleText('red', 'Fargate refuses:'), refusals],
    [styleText('yellow', 'Beware:'), traps.map(toPrintableLine)],
    [styleText('dim', 'Not seen:'), unseen.map(toPrintableLine)],
  ] as const;
  const color = isFine(explanation) ? 'green' : taker === null ? 'red' : 'yellow';
  const lines = [
    styleText(color, toPrintableLine(`${summary}${refused}`)),
    ...(size === null ? [] : [`Billed size on Fargate: ${size.vCPU} vCPU, ${size.memoryGB} GB`]),
    '',
    ...(rows.length === 0
      ? ['The EKS cluster has no Fargate profile.']
      : columns([['PROFILE', 'STATUS', 'SELECTOR', 'POD'], ...rows])),
    ...sections.flatMap(([title, each]) => (each.length === 0 ? [] : ['', title, ...each.map((line) => `  ${line}`)])),
  ];
  return `${lines.join('\n')}\n`;
}

function rowsOf({ name, status, selectors }: ProfileVerdict, taker: string | null): readonly (readonly string[])[] {
  if (selectors.length === 0) return [[name, status, 'none', 'does not match']];
  return selectors.map(({ matches, mismatch, ...selector }, index) => {
    const but =
      status !== 'ACTIVE' ? `, but is ${status}` : taker !== null && taker !== name ? `, but "${taker}" is chosen` : '';
    const told = matches ? `matches${but}` : (mismatch ?? '');
    return [...(index === 0 ? [name, status] : ['', '']), describeSelectors([selector]), told];
  });
}
