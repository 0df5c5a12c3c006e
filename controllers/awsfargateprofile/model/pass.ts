import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Note } from '../../shared/note.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { Desired } from './desired-state.ts';
import type { Observed } from './observed-state.ts';
import type { Step } from './outcome.ts';
import type { KeptRole, Plan } from './plan.ts';

export type PassEnd = 'inOrder' | Reason;

export interface Execution {
  end: PassEnd;
  readonly steps: Step[];
  /** Optional changes that AWS refused. */
  readonly notices: Reason[];
  /** Those of the plan, and roles that turned out to be used when they were to be deleted. */
  readonly kept: KeptRole[];
}

export interface PassResult {
  /** As this pass last read or wrote it. */
  readonly object: AWSFargateProfile;
  /** Where to look in AWS after this pass; undefined if the pass ended before AWS was read. */
  readonly note?: Note;
  readonly end: PassEnd;
  /** Undefined if the pass ended before AWS was read. */
  readonly facts?: AwsFacts;
  readonly execution?: Readonly<Execution>;
  /** The pass had credentials of the right account, although it may have ended before AWS was read. */
  readonly isAuthenticated?: true;
}

export interface AwsFacts {
  readonly desired: Desired;
  readonly observed: Observed;
  readonly plan: Plan;
}

export interface CompletedPass extends PassResult {
  /** Wall clock, ms since 1970. */
  readonly now: Ms;
  /** How long the object has waited because of the reason of the end. */
  readonly waited: Ms;
  /** How often in a row a failed Fargate profile was retried. */
  readonly attempts: number;
}

export const reasonOf = ({ end }: Pick<PassResult, 'end'>): Reason | undefined => (end === 'inOrder' ? undefined : end);

/** Whether the wanted profile serves pods beside what it replaces. */
export const isOfReplacement = ({ name }: Reason): boolean =>
  name === 'PredecessorKept' || name === 'Draining' || name === 'RemovingPredecessor';

/** Problems that are reported although AWS is as the spec asks for. */
export function noticesOf({ facts, execution }: PassResult): readonly Reason[] {
  const { notices = [] } = execution ?? {};
  const isDraining = notices.some(({ name }) => name === 'Draining');
  // The plan is to delete the predecessor, for which its drain has stopped the execution.
  const planned = facts?.plan.notices.filter(({ name }) => !isDraining || name !== 'RemovingPredecessor') ?? [];
  return [...notices, ...planned];
}
