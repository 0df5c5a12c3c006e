import type { Ms } from 'controller-runtime/env';
import type { MessageParts } from '../../shared/message.ts';
import { MINUTE, type Poll, pollForUserAction, pollProgress, pollRarely } from './delays.ts';

/**
 * The condition that a reason makes False in addition to Ready. A reason without such a condition appears in other
 * conditions only if the profile or the role in AWS does not match the spec.
 */
export type AffectedConditionType = 'IAMFargateRolesReady' | 'EKSFargateProfileReady' | 'CredentialsReady';

/**
 * Who can end a problem. `wait`: it ends on its own, and `Reconciling` is True. `human`: a user must act, and `Stalled`
 * is True. `retry`: the controller retries with backoff, and sets `Stalled` after some attempts. `outage`: AWS or the
 * API server cannot be reached, and `Ready` stays unchanged for a while.
 */
export type Nature = 'wait' | 'human' | 'retry' | 'outage';

export type SiblingChange = 'gone' | 'changed';

/** The {@link MessageParts} of a reason, as functions of its facts. */
export type Texts<F> = { readonly [Part in keyof MessageParts]: (facts: F) => MessageParts[Part] };

export interface ReasonSpec<F> extends Texts<F> {
  readonly nature: Nature;
  readonly conditionType?: AffectedConditionType;
  readonly poll: Poll<F>;
  /**
   * How long `Reconciling` is True before `Stalled` becomes True. Without a patience, `retry` counts attempts, and
   * `human` sets `Stalled` immediately.
   */
  readonly patience?: Ms;
  /**
   * The reason may end a reconcile before the reconcile reads AWS. `Ready` then stays True for a while, as in an AWS
   * outage.
   */
  readonly mayStopBeforeAwsRead?: true;
  /**
   * The profile can work although a user must act. `Ready` stays True and `Stalled` shows the reason, unless AWS shows
   * that the profile or the role no longer works.
   */
  readonly keepsReady?: true;
  /** An event announces the beginning of a wait in which the controller does nothing for the object. */
  readonly announced?: true;
  /** Neither a condition nor an event shows the reason. */
  readonly unreported?: true;
  /** The texts once the object has waited for the time `after`. */
  readonly late?: { readonly after: Ms } & Texts<F>;
  /** Which change of another AWSFargateProfile for the same EKS cluster can end the wait. `changed` includes `gone`. */
  readonly endedBySibling?: SiblingChange;
}

export const defineReason = <F>(entry: ReasonSpec<F>): ReasonSpec<F> => entry;

export const CREDENTIALS = { conditionType: 'CredentialsReady' } as const;
export const EKS = { conditionType: 'EKSFargateProfileReady' } as const;
export const IAM = { conditionType: 'IAMFargateRolesReady' } as const;

/** A user must act in AWS, which sends no event about it. */
export const IN_AWS = { nature: 'human', poll: pollForUserAction } as const;
/** A user must change a Kubernetes object, and a watch event reports the change. */
export const IN_KUBERNETES = { nature: 'human', poll: pollRarely } as const;
/** EKS is or may be changing a Fargate profile. */
export const EKS_PROGRESS = { nature: 'wait', ...EKS, poll: pollProgress } as const;

/** The name of the Fargate profile or IAM role. */
export type Named = { readonly name: string };

/**
 * How long an object or permission may be missing before `Stalled` becomes True. Tools such as Flux apply objects in
 * any order, and IAM takes up to two minutes to propagate a new permission.
 */
export const MISSING_PATIENCE: Ms = 2 * MINUTE;

/** `Stalled` becomes True after this many failed attempts. The controller continues to retry. */
export const ATTEMPTS_UNTIL_STALLED = 5;
