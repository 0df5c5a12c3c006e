import type { Ms } from 'controller-runtime/env';

/**
 * A reason makes this condition False in addition to Ready. Without one, the reason appears elsewhere only if profile
 * or role in AWS do not match the spec.
 */
export type AffectedConditionType = 'IAMFargateRolesReady' | 'EKSFargateProfileReady' | 'CredentialsReady';

/**
 * Who can end a problem. `wait`: it ends on its own, and `Reconciling` is True. `human`: a user must act, and `Stalled`
 * is True. `retry`: the controller retries with backoff, and sets `Stalled` after some attempts. `outage`: AWS or the
 * API server cannot be reached, and `Ready` stays for a while.
 */
export type Nature = 'wait' | 'human' | 'retry' | 'outage';

export type SiblingChange = 'gone' | 'changed';

export interface ReasonSpec<F> {
  readonly nature: Nature;
  readonly conditionType?: AffectedConditionType;
  readonly poll: Poll<F>;
  /** Describes the object and its problem in whole sentences, the last one without its period. */
  readonly describe: (facts: F) => string;
  /** Says what the user can do, and then what the controller does, in the same form. */
  readonly remedy?: (facts: F) => string;
  /**
   * How long `Reconciling` is True before `Stalled` becomes True. Without it, `retry` counts attempts, and `human` sets
   * `Stalled` at once.
   */
  readonly patience?: Ms;
  /** `Ready` then stays True for a while, as in an AWS outage. */
  readonly mayStopBeforeAwsRead?: true;
  /**
   * The profile can work although a user must act. `Ready` stays and `Stalled` shows the reason, unless AWS shows that
   * profile or role no longer work.
   */
  readonly keepsReady?: true;
  /** An event announces the beginning of a wait in which the controller does nothing for the object. */
  readonly announced?: true;
  /** Neither a condition nor an event shows the reason. */
  readonly unreported?: true;
  /** The texts once the object has waited for the time `after`. */
  readonly late?: { readonly after: Ms } & Required<Pick<ReasonSpec<F>, 'describe' | 'remedy'>>;
  /** Which change of another object in the EKS cluster can end the wait. `changed` includes `gone`. */
  readonly endedBySibling?: SiblingChange;
}

export const defineReason = <F>(entry: ReasonSpec<F>): ReasonSpec<F> => entry;

/** `waited` is how long the object has already waited. Returns the delay before the next reconcile. */
export type Poll<F = unknown> = (waited: Ms, facts: F) => Ms;

export const SECOND: Ms = 1_000;
export const MINUTE: Ms = 60 * SECOND;

/**
 * For waits that AWS ends, such as the creation of a Fargate profile. The delay is 7 % of the time waited, so that the
 * end is noticed 3.5 % late on average, at most 2.5 s. EKS takes one to two minutes (docs/adr/0020).
 */
export const pollProgress: Poll = (waited) => clamp(SECOND, 0.07 * waited, 5 * SECOND);

const clamp = (least: Ms, span: Ms, most: Ms): Ms => Math.min(Math.max(span, least), most);

export const pollEvery =
  (interval: Ms): Poll =>
  () =>
    interval;
/** For waits that end with a watch event. The delay only matters if that event is missed. */
export const pollRarely = pollEvery(10 * MINUTE);
/** This delay is for waits that a user's action in AWS ends, because AWS sends no event about it. */
export const pollForUserAction: Poll = (waited) => clamp(MINUTE, waited, 10 * MINUTE);
/** The delay equals the time already waited, so the delays double. */
export const pollDoubling =
  (first: Ms, cap: Ms): Poll =>
  (waited) =>
    clamp(first, waited, cap);

/**
 * How long an object or permission may be missing before `Stalled` becomes True. Tools such as Flux apply objects in
 * any order, and IAM takes up to two minutes to propagate a new permission.
 */
export const MISSING_PATIENCE: Ms = 2 * MINUTE;

/** `Stalled` becomes True after this many failed attempts. The controller continues to retry. */
export const ATTEMPTS_UNTIL_STALLED = 5;
