import type { Ms } from 'controller-runtime/env';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { ProfileRecord } from '../../shared/record.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { Desired } from './desired-state.ts';
import type { Observed } from './observed-state.ts';
import type { KeptRole, Plan, ReconcileEnd, Step } from './change.ts';

export interface Execution {
  end: ReconcileEnd;
  readonly steps: Step[];
  /** Optional changes that AWS refused. */
  readonly notices: Reason[];
  /** The roles that the plan keeps, and roles that turned out to be in use when they were about to be deleted. */
  readonly kept: KeptRole[];
  /** Set if other objects use tags that the plan removes. These tags are kept. */
  keepsTags?: true;
}

export interface ReconcileResult {
  /** The object as this reconcile last read or wrote it. */
  readonly object: AWSFargateProfile;
  /** The record after this reconcile. `undefined` if the reconcile ended before AWS was read. */
  readonly record?: ProfileRecord;
  readonly end: ReconcileEnd;
  /** `undefined` if the reconcile ended before AWS was read. */
  readonly facts?: AwsFacts;
  readonly execution?: Readonly<Execution>;
  /** The reconcile had credentials for the right account, although it may have ended before AWS was read. */
  readonly isAuthenticated?: true;
}

export interface AwsFacts {
  readonly desired: Desired;
  readonly observed: Observed;
  /** What exists in AWS after the changes, according to AWS's answers. */
  readonly after: Observed;
  readonly plan: Plan;
}

/** What the last report of an object announced in events. */
export interface Announced {
  readonly problems: readonly string[];
  readonly advice: readonly string[];
}

export interface CompletedReconcile extends ReconcileResult {
  /** Wall clock, ms since 1970. */
  readonly now: Ms;
  /** How long the object has waited for the reason in `end` or, without one, for a notice. */
  readonly waited: Ms;
  /** `undefined` until this process first reports the object. */
  readonly announced?: Announced | undefined;
  /** How many times in a row a failed Fargate profile was retried. */
  readonly attempts: number;
}

export const reasonOf = ({ end }: Pick<ReconcileResult, 'end'>): Reason | undefined =>
  end === 'inSync' || end === 'released' ? undefined : end;

/** True for a reason that lasts while the desired profile already serves pods and the replaced profile still exists. */
export const isOfReplacement = ({ name }: Reason): boolean =>
  name === 'PredecessorKept' || name === 'Draining' || name === 'RemovingPredecessor';

/** Problems that are reported although AWS matches the spec. */
export function noticesOf({ facts, execution }: ReconcileResult): readonly Reason[] {
  const { notices = [] } = execution ?? {};
  const isDraining = notices.some(({ name }) => name === 'Draining');
  // If a drain has stopped the execution, the planned deletion of the predecessor is not reported yet.
  const planned = facts?.plan.notices.filter(({ name }) => !isDraining || name !== 'RemovingPredecessor') ?? [];
  return [...notices, ...planned];
}
