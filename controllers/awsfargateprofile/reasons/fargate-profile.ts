import { formatAge, formatTimestamp, type Ms } from 'controller-runtime/env';
import { cut, MAX_FACT } from 'controller-runtime/text';
import type { Quote } from '../../shared/message.ts';
import { defineReason, EKS, EKS_PROGRESS, IN_AWS, type Named } from './definition.ts';
import { MINUTE, pollDrain, pollFailedProfile } from './delays.ts';
import { type Abandonable, type SpecChangeable, quoted, listed, remedyForDeletion } from './wording.ts';

export type ReportedIssue = {
  readonly code: string;
  readonly message: string;
  readonly resourceIds: readonly string[];
};

/** How many health issues, and how many resources per issue, are shown. */
const MAX_SHOWN = 10;

/** The API server rejects an object that is too large, so texts and lists are shortened. */
export const firstIssues = (issues: readonly ReportedIssue[]): readonly ReportedIssue[] =>
  issues.slice(0, MAX_SHOWN).map(({ code, message, resourceIds }) => ({
    code: cut(code, MAX_FACT),
    message: cut(message, MAX_FACT),
    resourceIds: resourceIds.slice(0, MAX_SHOWN).map((id) => cut(id, MAX_FACT)),
  }));

export function quoteIssues(issues: readonly ReportedIssue[]): Quote | undefined {
  if (issues.length === 0) return undefined;
  const shown = firstIssues(issues).map(({ code, message, resourceIds }) =>
    resourceIds.length === 0 ? `${code}: ${message}` : `${code}: ${message} (resources: ${listed(resourceIds)})`,
  );
  const rest = issues.length - shown.length;
  return { by: 'EKS', said: `${cut(shown.join('; '), MAX_FACT)}${rest > 0 ? `; and ${rest} more` : ''}` };
}

function remedyForIssues(issues: readonly ReportedIssue[]): string {
  if (issues.length === 0) return 'Ask AWS Support for the reason';
  return issues.every(({ code }) => code === 'InternalFailure')
    ? 'If this keeps happening, ask AWS Support'
    : 'Fix the problem that EKS reports';
}

const withoutReason = (issues: readonly ReportedIssue[]): string => (issues.length === 0 ? ' and gives no reason' : '');

/** `name` is the profile that replaces `predecessor`. */
type Replaced = Named & { readonly predecessor: string };

type Kept = Replaced & {
  /** The profile on which a pod that matches both profiles starts; `undefined` if no pod can match both. */
  readonly taker: string | undefined;
  readonly until: Ms;
  readonly remaining: Ms;
  readonly isSuccessorUnhealthy?: boolean;
  /** If `undefined`, the pods are not evicted, because spec.updateStrategy.replace.drainTimeout is not set. */
  readonly drain?: { readonly timeout: Ms; readonly obstacle?: DrainObstacle };
};

type Drains = Replaced & {
  readonly since: Ms;
  readonly until: Ms;
  readonly remaining: Ms;
  /** `total` counts the pods on the predecessor, and `left` those that still have to leave. */
  readonly counts?: { readonly total: number; readonly left: number };
  /** The first pod whose eviction the API server refuses, and why. */
  readonly refused?: { readonly pod: string; readonly said: string; readonly others: number };
  readonly problem?: { readonly problem: string; readonly remedy: string };
  /** This reconcile has begun the drain. */
  readonly begins?: true;
};

/**
 * `noLabel`: no label can contain the predecessor's name, so its pods cannot be found. `comesLater`: EKS would start
 * the pods on the predecessor again, because the predecessor's name comes first.
 */
export type DrainObstacle = 'noLabel' | 'comesLater';

export const describeObstacle = (obstacle: DrainObstacle, predecessor: string, successor: string): string =>
  obstacle === 'noLabel'
    ? `the name ${quoted(predecessor)} is not a valid label value, so no label shows its pods`
    : `EKS would start them on ${quoted(predecessor)} again, whose name comes before ${quoted(successor)}`;

function describeRemoval({ name, predecessor, until, isSuccessorUnhealthy, drain }: Kept): string {
  const at = formatTimestamp(until);
  if (isSuccessorUnhealthy)
    return `keeps until EKS reports no health issues of ${quoted(name)}, and at least until ${at}`;
  const stops = 'EKS then stops its pods immediately, without regard to PodDisruptionBudgets';
  if (drain === undefined) return `deletes at ${at}; ${stops}`;
  if (drain.obstacle === undefined) return `drains at ${at}, for at most ${formatAge(drain.timeout)}, and then deletes`;
  return `deletes at ${at} without a drain, because ${describeObstacle(drain.obstacle, predecessor, name)}; ${stops}`;
}

/** `successor` is created after the deletion. It may have the deleted profile's name. */
type Succeeded = Named & { readonly successor?: string };
const describeSuccessor = (name: string, successor: string): string =>
  successor === name ? 'recreates it with the current spec' : `creates Fargate profile ${quoted(successor)}`;

/** How often the controller reads whether the health issues of a successor are solved. A user has to solve them. */
const HEALTH_INTERVAL: Ms = 5 * MINUTE;

/**
 * EKS usually needs a few minutes. After this time, the message says that the wait is unusually long. The controller
 * never gives up.
 */
const LATE_AFTER: Ms = 30 * MINUTE;

const late = <F>(problem: (facts: F) => string) => ({
  after: LATE_AFTER,
  problem: (facts: F) => `${problem(facts)} for more than 30 minutes, although EKS usually needs a few`,
  remedy: () => 'Ask AWS Support for the cause, because only EKS can end this',
  outlook: () => 'The controller keeps waiting',
});

const UNBLOCK_EVICTION =
  'If a PodDisruptionBudget never allows an eviction, scale up the workload, relax the PodDisruptionBudget, or run kubectl rollout restart on the workload';

export const PROFILE_REASONS = {
  SpecDiffers: defineReason<Named & SpecChangeable & { readonly fields: readonly string[] }>({
    ...IN_AWS,
    ...EKS,
    problem: ({ name, fields }) =>
      `Fargate profile ${quoted(name)} differs from the spec, and EKS cannot change these fields of a profile: ${fields.join('; ')}`,
    remedy: ({ isSpecFixed = false }) =>
      isSpecFixed
        ? 'To replace the profile, set spec.updateStrategy.type to Replace; to keep it, also revert the spec to match the profile'
        : 'Change the spec to match the profile, or recreate this object, which deletes the profile and stops its pods unless spec.deletionPolicy is Retain',
    outlook: ({ isSpecFixed = false }) =>
      isSpecFixed
        ? 'With Replace, the controller creates a new profile and then deletes this one, which stops its pods. Until you act, the controller does not change the profile'
        : 'Until then the controller does not change the profile',
  }),
  Creating: defineReason<Named>({
    ...EKS_PROGRESS,
    problem: ({ name }) => `EKS is creating Fargate profile ${quoted(name)}, which usually takes a few minutes`,
    late: late(({ name }) => `EKS has been creating Fargate profile ${quoted(name)}`),
  }),
  Replacing: defineReason<Replaced>({
    ...EKS_PROGRESS,
    announced: true,
    problem: ({ name, predecessor }) =>
      `EKS is creating Fargate profile ${quoted(name)} to replace ${quoted(predecessor)}`,
    outlook: ({ predecessor }) => `Until it is ACTIVE, new pods start on ${quoted(predecessor)}`,
    late: late(
      ({ name, predecessor }) =>
        `New pods still start on Fargate profile ${quoted(predecessor)}, because EKS has been creating its successor ${quoted(name)}`,
    ),
  }),
  PredecessorKept: defineReason<Kept>({
    nature: 'wait',
    ...EKS,
    poll: (_waited, { remaining, isSuccessorUnhealthy }) =>
      isSuccessorUnhealthy ? Math.max(remaining, HEALTH_INTERVAL) : remaining,
    announced: true,
    problem: (facts) =>
      `Fargate profile ${quoted(facts.name)} is ACTIVE and replaces ${quoted(facts.predecessor)}, which the controller ${describeRemoval(facts)}`,
    remedy: ({ name, predecessor, taker, isSuccessorUnhealthy, drain }) => {
      if (isSuccessorUnhealthy) return undefined;
      if (taker === undefined)
        return `The pods of ${quoted(predecessor)} do not start on ${quoted(name)}, because no pod can match both. To keep these pods, revert spec.selectors before then; to delay the deletion, set a longer spec.updateStrategy.replace.keepPredecessorFor`;
      return taker === name && (drain === undefined || drain.obstacle !== undefined)
        ? 'To move the pods first, restart their workloads before then, for example with kubectl rollout restart'
        : undefined;
    },
    outlook: ({ taker }) =>
      taker === undefined
        ? undefined
        : `Until then, a new pod that matches both starts on ${quoted(taker)}, whose name sorts first`,
  }),
  Draining: defineReason<Drains>({
    nature: 'wait',
    ...EKS,
    poll: pollDrain,
    problem: ({ name, predecessor, counts, refused, problem }) => {
      const replaced = `Fargate profile ${quoted(predecessor)}, which ${quoted(name)} has replaced`;
      if (problem !== undefined)
        return `The controller cannot evict the pods of ${replaced}: ${cut(problem.problem, MAX_FACT).replace(/\.$/, '')}`;
      const { left = 0, total = 0 } = counts ?? {};
      const evicting = `The controller is evicting ${left} of ${total} ${total === 1 ? 'pod' : 'pods'} from ${replaced}`;
      if (refused === undefined) return evicting;
      const others = refused.others === 0 ? '' : ` and ${refused.others} more`;
      return `${evicting}, but the API server refuses to evict ${refused.pod}${others}`;
    },
    remedy: ({ refused, problem }) => problem?.remedy ?? (refused === undefined ? undefined : UNBLOCK_EVICTION),
    outlook: ({ predecessor, until }) =>
      `The controller tries again every 10 seconds, and deletes ${quoted(predecessor)} at ${formatTimestamp(until)} at the latest; EKS then stops the remaining pods`,
    quote: ({ refused, problem }) =>
      refused === undefined || problem !== undefined
        ? undefined
        : { by: 'The API server', said: cut(refused.said, MAX_FACT) },
  }),
  RemovingPredecessor: defineReason<Replaced>({
    ...EKS_PROGRESS,
    problem: ({ name, predecessor }) =>
      `Fargate profile ${quoted(name)} is ACTIVE and has replaced ${quoted(predecessor)}, which the controller is deleting`,
    late: late(
      ({ name, predecessor }) =>
        `Fargate profile ${quoted(name)} is ACTIVE, and the controller has been deleting its predecessor ${quoted(predecessor)}`,
    ),
  }),
  DeletingProfile: defineReason<Succeeded>({
    ...EKS_PROGRESS,
    problem: ({ name }) => `EKS is deleting Fargate profile ${quoted(name)}`,
    outlook: ({ name, successor }) =>
      successor === undefined ? undefined : `The controller then ${describeSuccessor(name, successor)}`,
    late: late(({ name }) => `EKS has been deleting Fargate profile ${quoted(name)}`),
  }),
  WaitingForCreate: defineReason<Succeeded>({
    ...EKS_PROGRESS,
    problem: ({ name, successor }) =>
      successor === undefined
        ? `the controller must delete Fargate profile ${quoted(name)}, but EKS is still creating it`
        : `EKS is still creating Fargate profile ${quoted(name)} from an older spec`,
    outlook: ({ name, successor }) =>
      successor === undefined
        ? 'The controller deletes it as soon as EKS has created it'
        : `The controller then deletes it and ${describeSuccessor(name, successor)}`,
    late: late(({ name }) => `EKS has been creating Fargate profile ${quoted(name)}`),
  }),
  CreateFailed: defineReason<Named & { readonly issues: readonly ReportedIssue[] }>({
    nature: 'retry',
    ...EKS,
    poll: pollFailedProfile,
    problem: ({ name, issues }) => `EKS failed to create Fargate profile ${quoted(name)}${withoutReason(issues)}`,
    remedy: ({ issues }) => remedyForIssues(issues),
    outlook: () => 'The controller keeps retrying: it deletes the failed profile and recreates it',
    quote: ({ issues }) => quoteIssues(issues),
  }),
  DeleteFailed: defineReason<Named & Abandonable & { readonly issues: readonly ReportedIssue[] }>({
    nature: 'retry',
    ...EKS,
    poll: pollFailedProfile,
    problem: ({ name, issues }) => `EKS failed to delete Fargate profile ${quoted(name)}${withoutReason(issues)}`,
    remedy: ({ issues, abandonment }) => remedyForDeletion(remedyForIssues(issues), abandonment, false),
    outlook: () => 'The controller keeps retrying the deletion',
    quote: ({ issues }) => quoteIssues(issues),
  }),
  UnknownProfileStatus: defineReason<Named & { readonly status: string }>({
    ...EKS_PROGRESS,
    problem: ({ name, status }) =>
      `Fargate profile ${quoted(name)} is in EKS status ${status}, which this version of the controller does not know`,
    remedy: () => 'If the status stays, use a newer version of the controller',
    outlook: () => 'Until the status changes, the controller does not change the profile',
  }),
} as const;
