import type { Ms } from 'controller-runtime/env';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { ProfileRecord } from '../../shared/record.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { Desired } from './desired-state.ts';
import type { Observed } from './observed-state.ts';
import type { KeptRole, Step, Plan } from './change.ts';

export type ReconcileEnd = 'inSync' | Reason;

export interface Execution {
  end: ReconcileEnd;
  readonly steps: Step[];
  /** Optional changes that AWS refused. */
  readonly notices: Reason[];
  /** Those of the plan, and roles that turned out to be used when they were to be deleted. */
  readonly kept: KeptRole[];
}

export interface ReconcileResult {
  /** As this pass last read or wrote it. */
  readonly object: AWSFargateProfile;
  /** Where to look in AWS after this pass; undefined if the pass ended before AWS was read. */
  readonly record?: ProfileRecord;
  readonly end: ReconcileEnd;
  /** Undefined if the pass ended before AWS was read. */
  readonly facts?: AwsFacts;
  readonly execution?: Readonly<Execution>;
  /** The pass had credentials of the right account, although it may have ended before AWS was read. */
  readonly isAuthenticated?: true;
}

export interface AwsFacts {
  readonly desired: Desired;
  readonly observed: Observed;
  /** As AWS has answered the changes. */
  readonly after: Observed;
  readonly plan: Plan;
}

/** What the last report of an object has told in events. */
export interface Told {
  readonly problem: string | undefined;
  readonly advice: readonly string[];
}

export interface CompletedReconcile extends ReconcileResult {
  /** Wall clock, ms since 1970. */
  readonly now: Ms;
  /** How long the object has waited because of the reason of the end. */
  readonly waited: Ms;
  /** What the last report announced in events; undefined until this process first reports the object. */
  readonly told?: Told | undefined;
  /** How often in a row a failed Fargate profile was retried. */
  readonly attempts: number;
}

export const reasonOf = ({ end }: Pick<ReconcileResult, 'end'>): Reason | undefined =>
  end === 'inSync' ? undefined : end;

/** Whether the wanted profile serves pods beside what it replaces. */
export const isOfReplacement = ({ name }: Reason): boolean =>
  name === 'PredecessorKept' || name === 'Draining' || name === 'RemovingPredecessor';

/** Problems that are reported although AWS is as the spec asks for. */
export function noticesOf({ facts, execution }: ReconcileResult): readonly Reason[] {
  const { notices = [] } = execution ?? {};
  const isDraining = notices.some(({ name }) => name === 'Draining');
  // The plan is to delete the predecessor, for which its drain has stopped the execution.
  const planned = facts?.plan.notices.filter(({ name }) => !isDraining || name !== 'RemovingPredecessor') ?? [];
  return [...notices, ...planned];
}
