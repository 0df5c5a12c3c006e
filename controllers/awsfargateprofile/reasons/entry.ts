import type { Ms } from '../../../pkg/env/clock.ts';

/** How long EKS took for the latest operations of one kind: longer than `least`, and not longer than `most`. */
export interface UsualDuration {
  readonly least: Ms;
  readonly most: Ms;
}

/**
 * A function that returns the time until the next reconcile of an object that has already waited for the time `waited`.
 * `usual` is how long EKS took for the latest operations of the same kind; undefined if that is not known.
 */
export type Poll<F = unknown> = (waited: Ms, facts: F, usual?: UsualDuration) => Ms;

export const SECOND: Ms = 1_000;
export const MINUTE: Ms = 60 * SECOND;

/**
 * A delay for waits of a few seconds, in which AWS may reject every request of the controller. The delay is a sixth of
 * the time waited so far. So the end of a wait of 12 s is noticed one second late on average.
 */
export const pollGrowing: Poll = (waited) => clamp(SECOND / 2, waited / 6, 12 * SECOND);

const clamp = (least: Ms, span: Ms, most: Ms): Ms => Math.min(Math.max(span, least), most);

const SHORTEST_PROFILE_POLL: Ms = SECOND / 20;
/** The interval at which the controller asks EKS while EKS has never finished so early. */
const EARLY_PROFILE_POLL: Ms = 5 * SECOND;
/** The shortest interval around the usual end, as a share of the usual duration. */
const PROFILE_POLL_STEP = 1 / 32;
/** For how many steps after the usual end the interval stays short. */
const STEPS_AFTER_USUAL_END = 4;

/**
 * The delay until the controller asks EKS again about a Fargate profile that EKS is creating or deleting. If it is not
 * known how long EKS takes, the delay is an eighth of the time since EKS began, so two minutes have about 35 requests.
 *
 * If the `usual` duration is known, the controller asks at the earliest time at which EKS may have finished, and then at
 * short intervals, because other profiles of the cluster wait for the end. Before that time the controller asks only
 * rarely, in case EKS is faster than usual: docs/adr/0010.
 */
export const pollProfile: Poll = (waited, _facts, usual) => {
  const steady = clamp(SECOND / 2, waited / 8, 10 * SECOND);
  if (usual === undefined) return steady;
  const { least, most } = usual;
  const shortest = Math.max(most * PROFILE_POLL_STEP, SHORTEST_PROFILE_POLL);
  const stepAfter = (time: Ms): Ms => Math.max(shortest, (most - time) / 4);
  const first = Math.min(most, least + stepAfter(least));
  if (waited < first) return clamp(SHORTEST_PROFILE_POLL, first - waited, Math.max(steady, EARLY_PROFILE_POLL));
  return waited < most + STEPS_AFTER_USUAL_END * shortest ? Math.min(steady, stepAfter(waited)) : steady;
};
export const pollEvery =
  (interval: Ms): Poll =>
  () =>
    interval;
/** The delay for waits that end with a watch event of the API server. It only matters if that event is missed. */
export const pollRarely = pollEvery(10 * MINUTE);
/** The delay for waits that end with a user's action in AWS. AWS sends no event about such an action. */
export const pollForUserAction: Poll = (waited) => clamp(MINUTE, waited, 10 * MINUTE);
/** A delay that equals the time already waited, but is at least `first` and at most `cap`. So the delays double. */
export const pollDoubling =
  (first: Ms, cap: Ms): Poll =>
  (waited) =>
    clamp(first, waited, cap);

/**
 * The condition that a reason makes False, besides Ready. A reason without a condition of its own only affects Ready.
 */
export type ConditionPart = 'IAMFargateRolesReady' | 'EKSFargateProfileReady' | 'CredentialsReady';

/**
 * Who can end a problem. The conditions follow from it.
 *
 * - `wait`: the problem ends without a user; `Reconciling` is True.
 * - `human`: a user must act; `Stalled` is True.
 * - `retry`: the controller retries with backoff, and sets `Stalled` after some failed attempts.
 * - `outage`: AWS or the API server cannot be reached; an object that is `Ready` stays `Ready` for a while.
 */
export type Nature = 'wait' | 'human' | 'retry' | 'outage';

export type SiblingChange = 'gone' | 'changed';

export interface ReasonSpec<F> {
  readonly nature: Nature;
  readonly part?: ConditionPart;
  readonly poll: Poll<F>;
  /** Returns the text that names the object and the problem: whole sentences, the last one without its full stop. */
  readonly describe: (facts: F) => string;
  /**
   * Returns the text about the actions of the user, then of the controller: whole sentences, the last one without its
   * full stop.
   */
  readonly remedy?: (facts: F) => string;
  /**
   * How long the object waits with `Reconciling` True before `Stalled` becomes True. Without this time, a reason of
   * nature `retry` sets `Stalled` after some failed attempts, and a reason of nature `human` sets it at once.
   */
  readonly patience?: Ms;
  /**
   * Whether a reconcile may stop for this reason before it has read AWS. An object that is `Ready` then stays `Ready`
   * for a while, as in an outage of AWS.
   */
  readonly mayHideAws?: true;
  /**
   * Whether the Fargate profile can work although a user must act. An object that is `Ready` then stays `Ready`, and
   * `Stalled` shows the reason. If AWS shows that the profile or the role does not work any more, `Ready` becomes False
   * nevertheless.
   */
  readonly keepsReady?: true;
  /**
   * Whether the beginning of a wait for this reason has a Kubernetes event. Such an event is needed where the
   * controller does nothing for the object meanwhile.
   */
  readonly announced?: true;
  /** Texts that replace `describe` and `remedy` once the object has waited for the time `after`. */
  readonly late?: { readonly after: Ms } & Required<Pick<ReasonSpec<F>, 'describe' | 'remedy'>>;
  /**
   * The change of another AWSFargateProfile of the same cluster that can end the wait for this reason. After such a
   * change the object is reconciled at once.
   */
  readonly endedBySibling?: SiblingChange;
}

/** The last sentence of most condition messages: the controller acts without the user. */
export const RETRIES = 'The controller retries on its own';
/** The last sentence of condition messages about a wait, or about a mistake that only a user can correct. */
export const CONTINUES = 'The controller then continues on its own';

export const quoted = (text: string): string => `"${text}"`;
export const listed = (texts: readonly string[]): string => texts.join(', ');
/** Joins at most three names, and adds the number of the names that are left out. */
export const enumerated = (names: readonly string[]): string =>
  names.length <= 3 ? listed(names) : `${listed(names.slice(0, 3))} and ${names.length - 3} more`;

/** A part of the facts of a problem that a user can solve by a change of the spec. */
export type SpecChangeable = {
  /** Whether the object was provisioned. The API server then refuses changes of the fields that EKS cannot change. */
  readonly isProvisioned?: boolean;
};

const replaceObject = 'another AWSFargateProfile, move the pods to its profile, and delete this object';
/**
 * The text for users about a problem that only a new object solves, because the API server refuses the change of the
 * spec that would help.
 */
export const REPLACE_OBJECT = `Create ${replaceObject}`;
/** The text of `REPLACE_OBJECT` as a further sentence, for a message that already names another action for the user. */
export const OR_REPLACE_OBJECT = `Or create ${replaceObject}`;

/**
 * The time until `Stalled` becomes True if an identity, a Secret or a permission is missing. Tools such as Flux apply
 * objects in any order, and IAM takes up to two minutes to make a new permission visible everywhere.
 */
export const MISSING_PATIENCE: Ms = 2 * MINUTE;

export const defineReason = <F>(entry: ReasonSpec<F>): ReasonSpec<F> => entry;

/**
 * The facts of a reason whose whole text comes from the code that found the problem. The text consists of sentences,
 * the last one without its full stop.
 */
export type Description = { readonly detail: string };
