import { formatTimestamp as time, type Ms } from 'controller-runtime/env';
import { shellCommand } from 'controller-runtime/text';
import type { FargateSelector } from '../../../pkg/cloud/index.ts';
import { PROFILE_LABEL } from '../../../pkg/fargate/fargate-pods.ts';
import { isPreferred } from '../../../pkg/fargate/overlap.ts';
import { findMismatch } from '../../../pkg/fargate/selectors.ts';
import type { Pod } from './pod.ts';

/** What is known about a Fargate profile from EKS, from its AWSFargateProfile, or from both. */
export interface Profile {
  readonly name: string;
  /** The status in EKS, such as `ACTIVE`. `absent` if only an AWSFargateProfile describes the profile. */
  readonly status: string;
  /** `undefined` if only EKS knows the selectors, and EKS did not answer. */
  readonly selectors: readonly FargateSelector[] | undefined;
  readonly createdAt?: Ms | undefined;
  /** When the controller first saw the profile ACTIVE. */
  readonly activeSince?: Ms | undefined;
  readonly object?: string;
  /** The controller deletes the profile after the profile that replaces it has become ACTIVE. */
  readonly isPredecessor?: boolean;
}

export interface ProfileVerdict extends Pick<Profile, 'name' | 'status' | 'object'> {
  /** `null` if the profile's selectors are not known. */
  readonly matches: boolean | null;
  /** `mismatch` is the first reason why the pod does not match the selector. `null` if it matches. */
  readonly selectors: readonly (FargateSelector & { readonly matches: boolean; readonly mismatch: string | null })[];
}

export interface Verdict {
  /** The profile that has taken the pod, or that would take a new copy of a pod that no profile has taken. */
  readonly taker: string | null;
  readonly summary: string;
  readonly profiles: readonly ProfileVerdict[];
  /** Problems that prevent, or may prevent, the pod from starting although a profile matches. Each contains its fix. */
  readonly traps: readonly string[];
}

/** EKS ignores pods with the value `ec2`, which older versions of CoreDNS set. */
const COMPUTE_TYPE_ANNOTATION = 'eks.amazonaws.com/compute-type';
/** EKS may still miss a profile's pods for this long after the profile becomes ACTIVE: eksctl-io/eksctl#3615. */
const SETTLING: Ms = 30_000;

/** Decides, as EKS does, which profile takes the pod. `isComplete`: the EKS cluster has no other profiles. */
export function decide(pod: Pod, profiles: readonly Profile[], isComplete: boolean, now: Ms): Verdict {
  const sorted = profiles.toSorted((a, b) => (isPreferred(a.name, b.name) ? -1 : 1));
  const judged = sorted.map((profile) => ({ ...profile, ...judge(pod, profile) }));
  const admitted = pod.labels[PROFILE_LABEL];
  const decision =
    pod.created !== undefined && pod.spec['schedulerName'] === 'fargate-scheduler' && admitted !== undefined
      ? decideAdmitted(pod, admitted, judged, isComplete)
      : decideByRules(pod, judged, now);
  return {
    ...decision,
    traps: [...decision.traps, ...findDeletionTrap(decision, judged)],
    profiles: judged.map(({ name, status, object, matches, selectors }) => {
      return { name, status, ...(object !== undefined && { object }), matches, selectors };
    }),
  };
}

function findDeletionTrap({ taker }: Decision, judged: readonly Judged[]): readonly string[] {
  if (judged.find(({ name }) => name === taker)?.isPredecessor !== true) return [];
  const others = judged.filter(
    ({ status, isPredecessor }) => !isPredecessor && ['ACTIVE', 'CREATING'].includes(status),
  );
  const next = others.find(({ matches }) => matches === true);
  const isKnown = others.every(({ matches }) => matches !== null);
  const copy =
    next !== undefined
      ? ` Profile "${next.name}" matches a new copy of it.`
      : isKnown
        ? ' No other profile matches it. Add a selector for it to the AWSFargateProfile.'
        : '';
  return [`The controller replaces Fargate profile "${taker}" and then deletes it, which stops the pod.${copy}`];
}

type Decision = Omit<Verdict, 'profiles'>;
type Judged = Profile & ReturnType<typeof judge>;

const nameOf = ({ kind, namespace, name }: Pod): string => `${kind} ${namespace}/${name}`;

function decideByRules(pod: Pod, judged: readonly Judged[], now: Ms): Decision {
  const asked = pod.labels[PROFILE_LABEL];
  const matching = judged.filter(({ matches }) => matches === true);
  const usable = matching.filter(({ status }) => status === 'ACTIVE');
  const taker = asked === undefined ? usable[0] : usable.find(({ name }) => name === asked);
  const nobody = `No Fargate profile takes ${nameOf(pod)}: `;
  if (pod.annotations[COMPUTE_TYPE_ANNOTATION] === 'ec2')
    return { taker: null, summary: `${nobody}its annotation ${COMPUTE_TYPE_ANNOTATION} is ec2.`, traps: [EC2_TRAP] };
  const unknown = judged
    .filter(({ status, matches }) => status === 'ACTIVE' && matches === null)
    .find(({ name }) => (asked ?? name) === name && (taker === undefined || isPreferred(name, taker.name)));
  if (unknown !== undefined) {
    const why = `only EKS knows the selectors of profile "${unknown.name}" now, and EKS did not answer.`;
    return { taker: null, summary: `Which Fargate profile takes ${nameOf(pod)} is not known: ${why}`, traps: [] };
  }
  if (taker === undefined) {
    const [first] = matching;
    const why =
      asked !== undefined
        ? whyAskedDoesNot(asked, judged)
        : first === undefined
          ? 'none has a selector that matches it.'
          : `profile "${first.name}" matches it, but is ${first.status}.`;
    return { taker: null, summary: nobody + why, traps: [] };
  }
  const summary =
    pod.created === undefined
      ? `Fargate profile "${taker.name}" takes ${nameOf(pod)}.`
      : `No Fargate profile has taken ${nameOf(pod)}; "${taker.name}" would run a new copy of it.`;
  return { taker: taker.name, summary, traps: timeTraps(pod, taker, now) };
}

/** https://docs.aws.amazon.com/eks/latest/userguide/fargate-getting-started.html */
const PATCH = '[{"op":"remove","path":"/spec/template/metadata/annotations/eks.amazonaws.com~1compute-type"}]';
const PATCH_COREDNS = [
  'kubectl',
  '-n',
  'kube-system',
  'patch',
  'deployment/coredns',
  '--type=json',
  `--patch=${PATCH}`,
];
const EC2_TRAP =
  `EKS leaves pods with the annotation ${COMPUTE_TYPE_ANNOTATION}: ec2 to EC2 nodes. Remove it from the pod template. ` +
  `CoreDNS: ${shellCommand(PATCH_COREDNS)}`;

function judge(pod: Pod, { selectors }: Profile) {
  if (selectors === undefined) return { matches: null, selectors: [] };
  const judged = selectors.map((selector) => {
    const mismatch = findMismatch(selector, pod) ?? null;
    return { ...selector, matches: mismatch === null, mismatch };
  });
  return { matches: judged.some((selector) => selector.matches), selectors: judged };
}

function whyAskedDoesNot(asked: string, judged: readonly Judged[]): string {
  const profile = judged.find(({ name }) => name === asked);
  const status = profile?.matches === true ? `is ${profile.status}` : 'has no selector that matches it';
  const problem = profile === undefined ? 'does not exist' : status;
  return `its label ${PROFILE_LABEL} names profile "${asked}", which ${problem}.`;
}

/** EKS chose the profile when the pod was created, so the current selectors do not matter. */
function decideAdmitted(pod: Pod, taker: string, judged: readonly Judged[], isComplete: boolean): Decision {
  const status = judged.find(({ name }) => name === taker)?.status;
  const traps: string[] = [];
  if (status === undefined && isComplete)
    traps.push(`Fargate profile "${taker}" no longer exists, so the pod does not start. Delete the pod.`);
  if (status !== undefined && status !== 'ACTIVE') traps.push(`Fargate profile "${taker}" is ${status}.`);
  return { taker, summary: `EKS has given ${nameOf(pod)} to Fargate profile "${taker}".`, traps };
}

function timeTraps(pod: Pod, { name, createdAt, activeSince }: Profile, now: Ms): readonly string[] {
  const since = activeSince ?? createdAt;
  if (pod.created === undefined)
    return since === undefined || now - since >= SETTLING
      ? []
      : [`Profile "${name}" has been ACTIVE for less than 30 s: EKS may miss a pod before ${time(since + SETTLING)}.`];
  const { at } = pod.created;
  const choice = 'EKS chooses a profile only when a pod is created';
  const fix = 'Delete the pod, and create it again unless its controller does.';
  if (at === undefined || since === undefined || at >= since + SETTLING)
    return [
      `${choice}. It did not choose "${name}" then: its selectors may not have matched, or EKS was not asked. ${fix}`,
    ];
  const known = [
    ...(createdAt === undefined ? [] : [`created at ${time(createdAt)}`]),
    ...(activeSince === undefined ? [] : [`seen ACTIVE at ${time(activeSince)}`]),
  ].join(', ');
  return [`${choice}. It may not have known "${name}" (${known}) when the pod was created (${time(at)}). ${fix}`];
}
