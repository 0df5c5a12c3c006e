import type { Ms } from 'controller-runtime/env';
import { cut, MAX_MESSAGE, toPrintableLine } from 'controller-runtime/text';
import { joinParts, type MessageParts } from '../../shared/message.ts';
import {
  defineReason,
  type ReasonSpec,
  type Texts,
  type Nature,
  type AffectedConditionType,
  type SiblingChange,
} from './definition.ts';
import { pollEvery } from './delays.ts';
import { capitalized } from './wording.ts';
import { AWS_CALL_REASONS } from './aws-errors.ts';
import { SPEC_REASONS } from './spec.ts';
import { EKS_CLUSTER_REASONS } from './eks-cluster.ts';
import { PROFILE_REASONS } from './fargate-profile.ts';
import { ROLE_REASONS } from './iam-role.ts';
import { OWNERSHIP_REASONS } from './ownership.ts';
import { CREDENTIAL_REASONS } from './credentials.ts';
import { KUBERNETES_REASONS } from './kubernetes.ts';
import type { ServedSchemaState } from '../../shared/crd/served-schema.ts';

/** Usually enough for the rate limiter, for the renewal of a lease, or for another reconcile to release a lock. */
const MOMENT: Ms = 1_000;
const unreported = { nature: 'wait', unreported: true, poll: pollEvery(MOMENT), problem: () => '' } as const;

/** Neither conditions nor events show these reasons: the object has no problem, and its next reconcile comes soon. */
export const UNREPORTED_REASONS = {
  /** Another client wrote or deleted the object. */
  Conflict: defineReason<object>(unreported),
  /** What the reconcile has read is outdated, for example because of its own change. The next one makes a survey. */
  ReadAgain: defineReason<{ readonly because: string }>(unreported),
  /** The reconcile may not continue now, for example without the lease or during a pause. */
  NotNow: defineReason<{ readonly because: string }>(unreported),
} as const;

export type { TagChange } from './aws-errors.ts';
export type { DrainObstacle, ReportedIssue } from './fargate-profile.ts';
export { quoteIssues, describeObstacle, firstIssues } from './fargate-profile.ts';
export type { Nature, AffectedConditionType, SiblingChange } from './definition.ts';

/** Each key is the `reason` of a condition. Conditions, requeues, docs/conditions.md, and tests use this table. */
export const REASONS = {
  ...KUBERNETES_REASONS,
  ...SPEC_REASONS,
  ...CREDENTIAL_REASONS,
  ...AWS_CALL_REASONS,
  ...EKS_CLUSTER_REASONS,
  ...OWNERSHIP_REASONS,
  ...ROLE_REASONS,
  ...PROFILE_REASONS,
} as const;

const ALL_REASONS = { ...REASONS, ...UNREPORTED_REASONS } as const;
export type ReasonName = keyof typeof ALL_REASONS;
export type Facts = { readonly [R in ReasonName]: (typeof ALL_REASONS)[R] extends ReasonSpec<infer F> ? F : never };
const TABLE: { readonly [R in ReasonName]: ReasonSpec<Facts[R]> } = ALL_REASONS;

/** Why a reconcile ended before AWS matched the spec, with the values for the texts. */
export type Reason<R extends ReasonName = ReasonName> = {
  readonly [K in R]: { readonly name: K; readonly facts: Facts[K] };
}[R];

export const newReason = <R extends ReasonName>(name: R, facts: Facts[R]): Reason<R> => ({ name, facts });

/** `resource` is a text such as `IAM role "pods"`. */
export const inconsistentAnswers = (resource: string): Reason =>
  newReason('Propagating', {
    detail: `AWS gives contradictory answers about ${resource}. Usually a recent change has not reached all parts of AWS yet, which takes up to two minutes`,
  });

/** How long `Stalled` is delayed. If undefined, the `nature` alone decides about `Stalled`. */
export const patienceFor = ({ name }: Reason): Ms | undefined => TABLE[name].patience;

export const mayStopBeforeAwsRead = ({ name }: Reason): boolean => TABLE[name].mayStopBeforeAwsRead === true;

export const isAnnounced = ({ name }: Reason): boolean => TABLE[name].announced === true;

export const keepsReady = ({ name }: Reason): boolean => TABLE[name].keepsReady === true;

export const isUnreported = ({ name }: Reason): boolean => TABLE[name].unreported === true;

export const natureOf = ({ name }: Reason): Nature => TABLE[name].nature;

/**
 * Whether the reason is a problem of Kubernetes objects. Such a problem is solved once a later reconcile ends with a
 * reason that is found in AWS.
 */
export const isKubernetesReason = (reason: string | undefined): boolean =>
  reason !== undefined && (Object.hasOwn(KUBERNETES_REASONS, reason) || Object.hasOwn(SPEC_REASONS, reason));

export const isEndedBySibling = (reason: ReasonName, news: SiblingChange): boolean => {
  const { endedBySibling } = TABLE[reason];
  return endedBySibling !== undefined && (news === 'gone' || endedBySibling === 'changed');
};

export const conditionTypeOf = ({ name, facts }: Reason): AffectedConditionType | undefined =>
  TABLE[name].conditionType ?? ('about' in facts ? facts.about : undefined);

export const pollOf = <R extends ReasonName>({ name, facts }: Reason<R>, waited: Ms): Ms =>
  TABLE[name].poll(waited, facts);

/** Describes the problem without what the user or the controller does. */
export function describeReason(reason: Reason): string {
  const { problem, quote } = partsOfMessage(reason);
  return toPrintableLine(joinParts({ problem, quote }));
}

/** Hidden characters, for example in an AWS message that repeats a name, become escape sequences. */
export const messageOf = (reason: Reason, waited: Ms = 0): string =>
  toPrintableLine(joinParts(partsOfMessage(reason, waited)));

// The problem and the quote each get at most this length, so that the remedy and the outlook also fit into the message.
const MAX_PART = MAX_MESSAGE / 4;

export function partsOfMessage<R extends ReasonName>({ name, facts }: Reason<R>, waited: Ms = 0): MessageParts {
  const usual: ReasonSpec<Facts[R]> = TABLE[name];
  const { late } = usual;
  const { problem, remedy, outlook, quote }: Texts<Facts[R]> = late === undefined || waited < late.after ? usual : late;
  const quoted = quote?.(facts);
  return {
    problem: cut(capitalizedSentence(problem(facts)), MAX_PART),
    remedy: remedy?.(facts),
    outlook: outlook?.(facts),
    quote: quoted && { ...quoted, said: cut(quoted.said, MAX_PART) },
  };
}

/** A field name such as `spec.roleARN` at the beginning stays as it is. */
const capitalizedSentence = (text: string): string => (/^[a-z]+[ ,]/.test(text) ? capitalized(text) : text);

/** If the CRD cannot be read, nothing is created or deleted, but the controller still corrects existing resources. */
export function reasonForSchema(state: ServedSchemaState): Reason | undefined {
  switch (state.kind) {
    case 'ours':
      return undefined;
    case 'foreign':
      return newReason('ForeignSchema', state);
    case 'capaServes':
      return newReason('CAPAServesProfiles', state);
    case 'unreadable':
      return newReason('WaitingForAPI', {
        kind: 'CustomResourceDefinition',
        reason: state.reason,
        obstacle: { kind: 'forbidden' },
      });
  }
}
