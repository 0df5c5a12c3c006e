import { styleText } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import { textAt } from 'controller-runtime/json';
import { toPrintableLine } from 'controller-runtime/text';
import { EksClusterName } from '../../../api/names.ts';
import { type Size, provisionedSize, sizeOfSpec } from '../../../pkg/fargate/pod-size.ts';
import { describeSelectors } from '../../../pkg/fargate/selectors.ts';
import {
  type Asked,
  type AwsAccess,
  attempt,
  openAws,
  readEks,
  requireRegion,
  seen,
  seenIn,
  tolerate,
  unseenIn,
} from '../aws.ts';
import { type ExitCode, Failure, type Io, alignColumns, tell } from '../io.ts';
import { type KubeAccess, PODS } from '../kube.ts';
import { recordedAccount } from '../objects.ts';
import type { CommonOptions } from '../program.ts';
import {
  type ClusterOptions,
  openManagement,
  openPodCluster,
  requireCluster,
  openWorkloadKubeconfig,
} from '../workload.ts';
import { type ProfileVerdict, type Verdict, decide } from './decide.ts';
import { type Violation, findLimits } from './fargate-limits.ts';
import { type Pod, type PodFile, podOf, readPodFile } from './pod.ts';
import { mergeProfiles, readManaged } from './profiles.ts';
import { type Said, readSaid } from './said.ts';
import { findGroupTrap, findTraps } from './traps.ts';
import { type VolumeFinding, findClaims } from './volumes.ts';

export interface ExplainOptions extends CommonOptions, ClusterOptions {
  readonly filename?: string;
}

/** In the shape of `-o json`. */
export interface Explanation extends Verdict {
  readonly violations: readonly Violation[];
  /** Messages about a Pending pod. */
  readonly said: readonly Said[];
  /** Fields that Fargate ignores, or that conflict with Fargate's own use. The pod still starts. */
  readonly advice: readonly string[];
  /** `null` if the pod is larger than the largest size. */
  readonly size: Size | null;
  /** Each source that could change the answer but could not be read, with the reason. */
  readonly unseen: readonly string[];
}

interface Access {
  readonly aws: AwsAccess;
  readonly management: KubeAccess | undefined;
  /** The pod's cluster, which capaf reads for a manifest's volumes too. If it is undefined, `noWorkload` says why. */
  readonly workload: KubeAccess | undefined;
  readonly noWorkload: string;
}

export async function runExplainPod(name: string | undefined, options: ExplainOptions, io: Io): Promise<ExitCode> {
  const { filename } = options;
  requireCluster(options);
  if (name === undefined && filename === undefined) throw new Failure('name a pod, or a file with -f');
  await using given = openWorkloadKubeconfig(options, io);
  await using aws = openAws(options, io);
  await using management = openManagement(options, io);
  const open = () => openWorkload({ ...options, workload: given }, management, io);
  const opened = filename === undefined ? E.right(await open()) : await tolerate(io.signal, open);
  await using workload = E.isRight(opened) ? opened.right : undefined;
  const noWorkload = E.isLeft(opened) ? opened.left : NOT_ASKED;
  const explanation = await explain(name, options, { aws, management, workload, noWorkload }, io);
  return tell(io, options, explanation, formatExplanation(explanation), isFine(explanation));
}

const NOT_ASKED = 'its cluster was not asked; --kubeconfig or --context names it';

/**
 * Opens the pod's cluster. If --eks-cluster is set, --kubeconfig or --context can select the pod's cluster. For a
 * manifest without these two options, returns `undefined`, because the current context may belong to any cluster.
 */
async function openWorkload(
  options: ExplainOptions & { readonly workload: KubeAccess | undefined },
  management: KubeAccess | undefined,
  io: Io,
) {
  const { workload, filename, cluster: name = '', eksCluster, kubeconfig, context } = options;
  if (management === undefined && filename !== undefined && (workload ?? kubeconfig ?? context) === undefined)
    return undefined;
  const cluster = management && { namespace: management.namespace, name };
  return openPodCluster({ cluster, eksCluster }, options, management, io);
}

/** Exported so that tests can pass in fakes. */
export async function explain(name: string | undefined, options: ExplainOptions, access: Access, io: Io) {
  const { aws, management } = access;
  const { pod, documents } = await readPod(name, options, access.workload, io);
  const { target, objects, unreadable } = management
    ? await readManaged(management, options.cluster ?? '', io)
    : { target: eksTarget(options, aws), objects: [], unreadable: [] };
  const eks = await attempt(() => readEks(aws, target.name, target.region, recordedAccount(objects)));
  if (management === undefined && E.isLeft(eks))
    throw new Failure(
      `the Fargate profiles of EKS cluster ${target.name} in ${target.region} cannot be read: ${eks.left}`,
    );
  const inEks = E.isRight(eks) ? eks.right.profiles : undefined;
  const verdict = decide(pod, mergeProfiles(objects, inEks), inEks !== undefined, io.clock.now());
  const taker = inEks?.find((profile) => profile.name === verdict.taker);
  const traps = E.isRight(eks) && taker !== undefined ? await findTraps(aws, eks.right.session, taker) : [];
  const around = await readAround({ pod, documents }, access, target, io);
  const mounts = seenIn(around.claims);
  const limits = findLimits(pod, target.region);
  const violations = [...limits.violations, ...mounts.filter((each) => typeof each !== 'string')];
  const risks = [...limits.risks, ...mounts.filter((each) => typeof each === 'string'), ...seenIn(around.groups)];
  const isRunning = isOnFargate(pod);
  return {
    ...verdict,
    traps: [...verdict.traps, ...seenIn(traps), ...(isRunning ? [] : risks)],
    violations: isRunning ? [] : violations,
    said: seenIn(around.said).flat(),
    advice: limits.advice,
    size: (pod.created && provisionedSize(pod.annotations['CapacityProvisioned'])) ?? sizeOfSpec(pod.spec) ?? null,
    unseen: [
      ...unseenIn([['EKS', eks]]),
      ...(inEks === undefined
        ? ['profiles without an AWSFargateProfile in this namespace: one of them may take the pod']
        : []),
      ...unseenIn(traps),
      ...unreadable,
      ...unseenIn([...around.claims, ...around.groups, ...around.said]),
    ],
  };
}

/** Whether the pod runs on Fargate. If so, Fargate has not refused it, whatever the limits say. */
const isOnFargate = ({ spec, created }: Pod): boolean =>
  spec['schedulerName'] === 'fargate-scheduler' &&
  ['Running', 'Succeeded'].includes(textAt(created?.status, 'phase') ?? '');

/** The pod's EKS cluster. */
interface Target {
  readonly name: EksClusterName;
  readonly region: string;
}

interface Around {
  readonly claims: readonly Asked<VolumeFinding>[];
  readonly groups: readonly Asked<string>[];
  readonly said: readonly Asked<readonly Said[]>[];
}

/** Reads the pod's volumes, SecurityGroupPolicies, and messages about its start from the pod's cluster. */
async function readAround({ pod, documents }: PodFile, access: Access, target: Target, io: Io): Promise<Around> {
  const client = access.workload?.client;
  const { signal } = io;
  const claims = await findClaims(pod, { documents, client, why: access.noWorkload, signal });
  const said = await tolerate(signal, () => readSaid(pod, client, signal));
  const readClusterGroup = async () => {
    const { clusters } = await access.aws.open(target.region);
    return (await seen(clusters.describe(target.name)))?.securityGroup;
  };
  const ofCluster = () => readClusterGroup().catch(() => undefined);
  // SecurityGroupPolicies are read only for existing pods: a manifest is explained even if its cluster is unreachable.
  const asked = pod.created === undefined ? undefined : client;
  const groups = await tolerate(signal, async () => asked && findGroupTrap(pod, asked, ofCluster, signal));
  return { claims, groups: [['the SecurityGroupPolicies', groups]], said: [['the events of the pod', said]] };
}

function eksTarget({ eksCluster: name = '' }: ExplainOptions, { region }: AwsAccess): Target {
  return { name: EksClusterName.of(name), region: requireRegion(region) };
}

async function readPod(
  name: string | undefined,
  { filename, namespace }: ExplainOptions,
  workload: Access['workload'],
  io: Io,
): Promise<PodFile> {
  const namespaces = { asked: namespace, default: workload?.namespace ?? 'default' };
  if (filename !== undefined) return readPodFile(filename, name, namespaces, io);
  if (workload === undefined || name === undefined) throw new TypeError('a pod without a name or a cluster');
  const { client, namespace: own, server } = workload;
  const object = await client.get(PODS, { namespace: own, name }, { signal: io.signal });
  const pod = object && podOf({ ...object, kind: 'Pod' }, own);
  if (pod === undefined)
    throw new Failure(`there is no pod ${own}/${name} in the cluster at ${server}; -n names its namespace`);
  return { pod, documents: [] };
}

/** If true, the exit code is 0. Advice does not count, because it does not prevent a pod from starting. */
export const isFine = ({ taker, violations, traps, said }: Explanation): boolean =>
  taker !== null && violations.length === 0 && traps.length === 0 && said.length === 0;

export function formatExplanation(explanation: Explanation): string {
  const { summary, taker, profiles, violations, said, traps, advice, size, unseen } = explanation;
  const refused = violations.length === 0 ? '' : ' Fargate cannot run it as it is.';
  const rows = profiles.flatMap((profile) => rowsOf(profile, taker));
  const refusals = alignColumns(violations.map(({ field, message }) => [field, message]));
  const quotes = said.flatMap(({ source, message, fix }) => [
    toPrintableLine(`${source}: "${message}"`),
    ...(fix === null ? [] : [`  → ${fix}`]),
  ]);
  const sections = [
    [styleText('red', 'Fargate refuses:'), refusals],
    [styleText('red', 'Messages about the pod:'), quotes],
    [styleText('yellow', 'Beware:'), [...traps, ...advice].map(toPrintableLine)],
    [styleText('dim', 'Not seen:'), unseen.map(toPrintableLine)],
  ] as const;
  const color = isFine(explanation) ? 'green' : taker === null ? 'red' : 'yellow';
  const lines = [
    styleText(color, toPrintableLine(`${summary}${refused}`)),
    ...(size === null ? [] : [`Billed size on Fargate: ${size.vCPU} vCPU, ${size.memoryGB} GB`]),
    '',
    ...(rows.length === 0
      ? ['The EKS cluster has no Fargate profile.']
      : alignColumns([['PROFILE', 'STATUS', 'SELECTOR', 'POD'], ...rows])),
    ...sections.flatMap(([title, each]) => (each.length === 0 ? [] : ['', title, ...each.map((line) => `  ${line}`)])),
  ];
  return `${lines.join('\n')}\n`;
}

function rowsOf(profile: ProfileVerdict, taker: string | null): readonly (readonly string[])[] {
  const { name, status, matches: doesMatch, selectors } = profile;
  if (doesMatch === null) return [[name, status, 'not known', 'not known']];
  if (selectors.length === 0) return [[name, status, 'none', 'does not match']];
  return selectors.map(({ matches, mismatch, ...selector }, index) => {
    const but =
      status !== 'ACTIVE' ? `, but is ${status}` : taker !== null && taker !== name ? `, but "${taker}" is chosen` : '';
    const told = matches ? `matches${but}` : (mismatch ?? '');
    return [...(index === 0 ? [name, status] : ['', '']), describeSelectors([selector]), told];
  });
}
