import type { Ms } from '../../../pkg/env/clock.ts';
import { toPrintableLine } from '../../../pkg/env/printable.ts';
import { AWS_REASONS } from './aws.ts';
import { CREDENTIAL_REASONS } from './credentials.ts';
import { EKS_CLUSTER_NAME_REASONS, EKS_CLUSTER_REASONS } from './eks-cluster.ts';
import { KUBERNETES_REASONS } from './kubernetes.ts';
import { PROFILE_REASONS } from './profile.ts';
import { OWNERSHIP_REASONS } from './ownership.ts';
import type { ReasonSpec, Nature, ConditionPart, SiblingChange } from './entry.ts';
import { ROLE_REASONS } from './role.ts';

export type { ReportedIssue } from './profile.ts';
export { describeIssues } from './profile.ts';
export type { Nature, ConditionPart, SiblingChange } from './entry.ts';

/**
 * All reasons for which an object does not match its spec yet. Conditions, requeues, docs/conditions.md and tests read
 * this table. The key is the `reason` of the condition.
 */
export const REASONS = {
  ...KUBERNETES_REASONS,
  ...EKS_CLUSTER_NAME_REASONS,
  ...CREDENTIAL_REASONS,
  ...AWS_REASONS,
  ...EKS_CLUSTER_REASONS,
  ...OWNERSHIP_REASONS,
  ...ROLE_REASONS,
  ...PROFILE_REASONS,
} as const;

export type ReasonName = keyof typeof REASONS;
/** For each reason: the values that its texts contain. */
export type Facts = { readonly [R in ReasonName]: (typeof REASONS)[R] extends ReasonSpec<infer F> ? F : never };
const TABLE: { readonly [R in ReasonName]: ReasonSpec<Facts[R]> } = REASONS;

/** The reason for which a pass stopped before AWS matched the spec, with its facts. */
export type Reason<R extends ReasonName = ReasonName> = {
  readonly [K in R]: { readonly name: K; readonly facts: Facts[K] };
}[R];

export const newReason = <R extends ReasonName>(name: R, facts: Facts[R]): Reason<R> => ({ name, facts });

/** The reason to wait while AWS contradicts itself about the role or profile `name`. */
export const inconsistentAnswers = (name: string): Reason =>
  newReason('Propagating', {
    detail: `AWS gives contradictory answers about "${name}", because a recent change has not reached all parts of AWS yet`,
  });

/**
 * The time after which a reason of nature `retry` is shown as `Stalled`; `undefined`: the number of attempts decides.
 */
export const patienceFor = ({ name }: Reason): Ms | undefined => TABLE[name].patience;

/** Whether the reason may stop a pass before AWS is read. */
export const mayHideAws = ({ name }: Reason): boolean => TABLE[name].mayHideAws === true;

/** Whether an event says when a wait for the reason begins. */
export const isAnnounced = ({ name }: Reason): boolean => TABLE[name].announced === true;

/**
 * Whether an object that is `Ready` stays `Ready` with this reason, unless AWS shows that profile or role does not
 * work.
 */
export const keepsReady = ({ name }: Reason): boolean => TABLE[name].keepsReady === true;

export const natureOf = ({ name }: Reason): Nature => TABLE[name].nature;

/**
 * Whether the controller finds the problem in Kubernetes objects, before it calls AWS. A pass that ends with another
 * reason has passed these checks, so the problem is solved.
 */
export const isKubernetesReason = (reason: string | undefined): boolean =>
  reason !== undefined &&
  (Object.hasOwn(KUBERNETES_REASONS, reason) || Object.hasOwn(EKS_CLUSTER_NAME_REASONS, reason));

/** Whether the change of another AWSFargateProfile of the cluster may have ended the wait for the reason. */
export const isEndedBySibling = (reason: ReasonName, news: SiblingChange): boolean => {
  const { endedBySibling } = TABLE[reason];
  return endedBySibling !== undefined && (news === 'gone' || endedBySibling === 'changed');
};

export const partOf = ({ name, facts }: Reason): ConditionPart | undefined =>
  TABLE[name].part ?? ('about' in facts ? facts.about : undefined);

/**
 * The time until the next pass over an object that has waited for the time `waited`. `usual`: how long EKS took for the
 * last operation of the same kind.
 */
export const pollOf = <R extends ReasonName>({ name, facts }: Reason<R>, waited: Ms, usual?: Ms): Ms =>
  TABLE[name].poll(waited, facts, usual);

/** The text about the problem, without the remedy. Hidden characters are shown as escape sequences. */
export const describeReason = <R extends ReasonName>({ name, facts }: Reason<R>): string =>
  toPrintableLine(capitalised(TABLE[name].describe(facts)));

/**
 * The text about a reason in conditions and events, for an object that has waited for the time `waited`. Hidden
 * characters, for example in the words of AWS about a name, are shown as escape sequences.
 */
export function messageOf<R extends ReasonName>({ name, facts }: Reason<R>, waited: Ms = 0): string {
  const { late, ...entry } = TABLE[name];
  const { describe, remedy } = late === undefined || waited < late.after ? entry : late;
  const description = capitalised(describe(facts));
  // The full stop is removed, because the words of AWS may end with one.
  return toPrintableLine(remedy === undefined ? description : `${description.replace(/\.$/, '')}. ${remedy(facts)}.`);
}

/** The text with a capital first letter, unless it starts with a field name such as `spec.roleARN`. */
const capitalised = (text: string): string =>
  /^[a-z]+[ ,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
