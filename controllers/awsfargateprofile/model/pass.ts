import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { Desired } from './desired-state.ts';
import type { Observed } from './observed-state.ts';
import type { Step } from './outcome.ts';
import type { Plan } from './plan.ts';

/** How a pass ended: AWS is as the spec asks for, or the reason to stop. */
export type PassEnd = 'inOrder' | Reason;

/** What became of a plan. */
export interface Execution {
  end: PassEnd;
  /** The changes that were sent to AWS, in order. */
  readonly steps: Step[];
  /** Optional changes that AWS refused. */
  readonly notices: Reason[];
  /** Roles of this controller that the spec does not ask for, but that stay, because `usedBy` uses them. */
  readonly kept: { readonly name: string; readonly usedBy: string }[];
}

/** How a pass ended, with the facts that led to this end. */
export interface PassResult {
  /** The object as this pass last read or wrote it. */
  readonly object: AWSFargateProfile;
  readonly end: PassEnd;
  /** Undefined if the pass ended before AWS was read, for example without credentials. */
  readonly facts?: AwsFacts;
  readonly execution?: Readonly<Execution>;
  /** Whether the pass had credentials of the right account, although it may have ended before AWS was read. */
  readonly isAuthenticated?: true;
}

/** What a pass has read of AWS, and what it planned. */
export interface AwsFacts {
  readonly desired: Desired;
  readonly observed: Observed;
  readonly plan: Plan;
}

/** A pass of which status, conditions and events are derived. */
export interface CompletedPass extends PassResult {
  /** The wall-clock time at the end of the pass, in milliseconds since 1970. */
  readonly now: Ms;
  /** How long the object has waited because of the reason for which the pass stopped; 0 if it did not stop. */
  readonly waited: Ms;
  /** How many times in a row the controller has retried a Fargate profile that EKS failed to create or delete. */
  readonly attempts: number;
}

export const reasonOf = ({ end }: Pick<PassResult, 'end'>): Reason | undefined => (end === 'inOrder' ? undefined : end);

/** Whether the wanted profile serves pods beside what it replaces. */
export const isOfReplacement = ({ name }: Reason): boolean =>
  name === 'PredecessorKept' || name === 'RemovingPredecessor';

/** The problems that a pass reports although AWS is as the spec asks for. */
export const noticesOf = ({ facts, execution }: PassResult): readonly Reason[] => [
  ...(execution?.notices ?? []),
  ...(facts?.plan.notices ?? []),
];
