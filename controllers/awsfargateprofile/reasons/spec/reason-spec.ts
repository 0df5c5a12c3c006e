import type { Ms } from '../../../../pkg/env/clock.ts';
import type { Poll } from './poll-intervals.ts';

/**
 * The condition that a reason makes False in addition to Ready. A reason without such a condition appears in another
 * condition only if the profile or role in AWS is not as wanted.
 */
export type AffectedConditionType = 'IAMFargateRolesReady' | 'EKSFargateProfileReady' | 'CredentialsReady';

/**
 * Who can end a problem. The conditions follow from it.
 *
 * - `wait`: the problem ends without an action of a user; `Reconciling` is True.
 * - `human`: a user must act; `Stalled` is True.
 * - `retry`: the controller retries with backoff, and sets `Stalled` after some failed attempts.
 * - `outage`: AWS or the API server cannot be reached; an object that is `Ready` stays `Ready` for a while.
 */
export type Nature = 'wait' | 'human' | 'retry' | 'outage';

export type SiblingChange = 'gone' | 'changed';

export interface ReasonSpec<F> {
  readonly nature: Nature;
  readonly conditionType?: AffectedConditionType;
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
  readonly mayStopBeforeAwsRead?: true;
  /**
   * Whether the Fargate profile can work although a user must act. An object that is `Ready` then stays `Ready`, and
   * `Stalled` shows the reason. If AWS shows that the profile or the role does not work any more, `Ready` becomes False
   * nevertheless.
   */
  readonly keepsReady?: true;
  /**
   * Whether the controller records a Kubernetes event when an object begins to wait because of this reason. The event
   * is needed if the controller does nothing for the object during the wait.
   */
  readonly announced?: true;
  /** Whether nothing is reported: no condition and no event shows the reason. */
  readonly silent?: true;
  /** Texts that replace `describe` and `remedy` once the object has waited for the time `after`. */
  readonly late?: { readonly after: Ms } & Required<Pick<ReasonSpec<F>, 'describe' | 'remedy'>>;
  /**
   * The change of another AWSFargateProfile of the same cluster that can end a wait because of this reason. If it is
   * `changed`, `gone` ends the wait too. After such a change the object is reconciled at once.
   */
  readonly endedBySibling?: SiblingChange;
}

export const defineReason = <F>(entry: ReasonSpec<F>): ReasonSpec<F> => entry;
