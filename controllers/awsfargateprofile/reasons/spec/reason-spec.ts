import type { Ms } from '../../../../pkg/env/clock.ts';
import type { Poll } from './poll-intervals.ts';

/**
 * The condition that a reason makes False in addition to Ready. Without one, the reason appears elsewhere only if
 * profile or role in AWS is not as wanted.
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
  /** Object and problem: whole sentences, the last one without its full stop. */
  readonly describe: (facts: F) => string;
  /** What the user can do, then what the controller does, in the same form. */
  readonly remedy?: (facts: F) => string;
  /**
   * How long `Reconciling` is True before `Stalled` becomes True. Without it, `retry` counts attempts, and `human` sets
   * `Stalled` at once.
   */
  readonly patience?: Ms;
  /** `Ready` then stays True for a while, as in an outage of AWS. */
  readonly mayStopBeforeAwsRead?: true;
  /**
   * The profile can work although a user must act: `Ready` stays, and `Stalled` shows the reason, unless AWS shows that
   * profile or role does not work any more.
   */
  readonly keepsReady?: true;
  /** An event tells when the wait begins, for waits in which the controller does nothing for the object. */
  readonly announced?: true;
  /** No condition and no event shows the reason. */
  readonly silent?: true;
  /** The texts once the object has waited for the time `after`. */
  readonly late?: { readonly after: Ms } & Required<Pick<ReasonSpec<F>, 'describe' | 'remedy'>>;
  /** Which change of another object of the cluster can end the wait. `changed` includes `gone`. */
  readonly endedBySibling?: SiblingChange;
}

export const defineReason = <F>(entry: ReasonSpec<F>): ReasonSpec<F> => entry;
