import { MAX_MESSAGE, cut } from '../../../api/text.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { toPrintableLine } from '../../../pkg/env/printable.ts';
import { AWS_CALL_REASONS } from './aws/call-errors.ts';
import { EKS_CLUSTER_REASONS } from './aws/eks-cluster.ts';
import { PROFILE_REASONS } from './aws/fargate-profile.ts';
import { ROLE_REASONS } from './aws/iam-role.ts';
import { OWNERSHIP_REASONS } from './aws/ownership.ts';
import { PROPAGATION_REASONS } from './aws/propagation.ts';
import { QUOTA_REASONS } from './aws/quotas.ts';
import { SIBLING_REASONS } from './aws/waiting-for-sibling.ts';
import { ACCOUNT_REASONS } from './credentials/accounts-and-regions.ts';
import { CREDENTIAL_REASONS } from './credentials/credentials-and-identities.ts';
import { API_SERVER_REASONS } from './kubernetes/api-server.ts';
import { CLUSTER_REASONS } from './kubernetes/cluster-and-control-plane.ts';
import { FOREIGN_CRD_REASONS } from './kubernetes/foreign-crd.ts';
import { SPEC_REASONS } from './kubernetes/invalid-spec.ts';
import { MOVE_AND_DELETION_REASONS } from './kubernetes/move-and-deletion.ts';
import { TARGET_REASONS } from './kubernetes/target-eks-cluster.ts';
import { OPERATOR_LIMIT_REASONS } from './not-allowed-by-operator.ts';
import { SILENT_REASONS } from './silent.ts';
import type { ReasonSpec, Nature, AffectedConditionType, SiblingChange } from './spec/reason-spec.ts';

export type { TagChange } from './aws/call-errors.ts';
export type { ReportedIssue } from './aws/fargate-profile.ts';
export { describeIssues, firstIssues } from './aws/fargate-profile.ts';
export type { Nature, AffectedConditionType, SiblingChange } from './spec/reason-spec.ts';

/**
 * The reasons about Kubernetes objects and the API server. The controller finds most of them before it reads the
 * profile and role from AWS.
 */
const KUBERNETES_REASONS = {
  ...API_SERVER_REASONS,
  ...FOREIGN_CRD_REASONS,
  ...CLUSTER_REASONS,
  ...TARGET_REASONS,
  ...SPEC_REASONS,
  ...MOVE_AND_DELETION_REASONS,
} as const;

/**
 * All reasons for which AWS does not match the spec of an object yet, or a user has to act. Each key is the `reason` of
 * a condition. The conditions, the requeues, docs/conditions.md and tests use this table.
 */
export const REASONS = {
  ...KUBERNETES_REASONS,
  ...CREDENTIAL_REASONS,
  ...ACCOUNT_REASONS,
  ...AWS_CALL_REASONS,
  ...QUOTA_REASONS,
  ...EKS_CLUSTER_REASONS,
  ...OWNERSHIP_REASONS,
  ...OPERATOR_LIMIT_REASONS,
  ...ROLE_REASONS,
  ...PROPAGATION_REASONS,
  ...PROFILE_REASONS,
  ...SIBLING_REASONS,
} as const;

const ALL_REASONS = { ...REASONS, ...SILENT_REASONS } as const;
export type ReasonName = keyof typeof ALL_REASONS;
/** For each condition reason: the type of the values that its texts contain. */
export type Facts = { readonly [R in ReasonName]: (typeof ALL_REASONS)[R] extends ReasonSpec<infer F> ? F : never };
const TABLE: { readonly [R in ReasonName]: ReasonSpec<Facts[R]> } = ALL_REASONS;

/** The values of the reasons that users see. */
export type ReportedFacts = Pick<Facts, keyof typeof REASONS>;

/** The reason for which a reconcile stopped before AWS matched the spec, with the values for its texts. */
export type Reason<R extends ReasonName = ReasonName> = {
  readonly [K in R]: { readonly name: K; readonly facts: Facts[K] };
}[R];

export const newReason = <R extends ReasonName>(name: R, facts: Facts[R]): Reason<R> => ({ name, facts });

/**
 * Returns the reason to wait while answers of AWS contradict each other about a resource, such as `IAM role "pods"`.
 */
export const inconsistentAnswers = (resource: string): Reason =>
  newReason('Propagating', {
    detail: `AWS gives contradictory answers about ${resource}. Usually a recent change has not reached all parts of AWS yet`,
  });

/**
 * Returns how long an object waits with this reason before `Stalled` becomes True. `undefined` if the reason defines no
 * such time: then its `nature` decides about `Stalled`.
 */
export const patienceFor = ({ name }: Reason): Ms | undefined => TABLE[name].patience;

/** Whether a reconcile may stop for this reason before it has read AWS. */
export const mayStopBeforeAwsRead = ({ name }: Reason): boolean => TABLE[name].mayStopBeforeAwsRead === true;

/** Whether the controller records a Kubernetes event when an object begins to wait because of this reason. */
export const isAnnounced = ({ name }: Reason): boolean => TABLE[name].announced === true;

/** Whether an object that is `Ready` stays `Ready` with this reason, as long as its Fargate profile and role work. */
export const keepsReady = ({ name }: Reason): boolean => TABLE[name].keepsReady === true;

/** Whether nothing is reported about this reason. */
export const isSilent = ({ name }: Reason): boolean => TABLE[name].silent === true;

export const natureOf = ({ name }: Reason): Nature => TABLE[name].nature;

/**
 * Whether this problem concerns Kubernetes objects or the API server. If a later reconcile ends with a reason that the
 * controller finds in AWS, the problem is solved.
 */
export const isKubernetesReason = (reason: string | undefined): boolean =>
  reason !== undefined && Object.hasOwn(KUBERNETES_REASONS, reason);

/**
 * Whether a change of another AWSFargateProfile of the cluster may let an object continue that waits because of this
 * reason.
 */
export const isEndedBySibling = (reason: ReasonName, news: SiblingChange): boolean => {
  const { endedBySibling } = TABLE[reason];
  return endedBySibling !== undefined && (news === 'gone' || endedBySibling === 'changed');
};

export const conditionTypeOf = ({ name, facts }: Reason): AffectedConditionType | undefined =>
  TABLE[name].conditionType ?? ('about' in facts ? facts.about : undefined);

/**
 * Returns the time until the next reconcile of an object that has already waited for the time `waited`.
 */
export const pollOf = <R extends ReasonName>({ name, facts }: Reason<R>, waited: Ms): Ms =>
  TABLE[name].poll(waited, facts);

/** Returns the text about the problem, without the remedy. Hidden characters are shown as escape sequences. */
export const describeReason = <R extends ReasonName>({ name, facts }: Reason<R>): string =>
  toPrintableLine(capitalised(TABLE[name].describe(facts)));

/** The maximum length of a description in a message. The rest of the message is for the remedy. */
const MAX_DESCRIPTION = MAX_MESSAGE / 2;

/**
 * Returns the message about a reason for conditions and events. It can depend on how long the object has waited. Hidden
 * characters, for example in a message of AWS that repeats a name, are shown as escape sequences.
 */
export function messageOf<R extends ReasonName>({ name, facts }: Reason<R>, waited: Ms = 0): string {
  const { late, ...entry } = TABLE[name];
  const { describe, remedy } = late === undefined || waited < late.after ? entry : late;
  const description = cut(capitalised(describe(facts)), MAX_DESCRIPTION);
  // The description may end with a message of AWS that has its own full stop. That full stop is removed, because
  // another full stop follows the description.
  return toPrintableLine(remedy === undefined ? description : `${description.replace(/\.$/, '')}. ${remedy(facts)}.`);
}

/** Returns the text with a capital first letter, unless it starts with a field name such as `spec.roleARN`. */
const capitalised = (text: string): string =>
  /^[a-z]+[ ,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
