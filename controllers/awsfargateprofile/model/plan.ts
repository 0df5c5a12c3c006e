import type { Reason } from '../reasons/reasons.ts';
import type { Mutation } from './mutation.ts';

export interface Change {
  readonly mutation: Mutation;
  /** AWS may refuse the change without harm: the refusal is reported, and the next changes are made all the same. */
  readonly optional?: true;
  /**
   * The change removes what a replacement leaves. The object is Ready all the same, so a reason to stop there is only
   * reported.
   */
  readonly trailing?: true;
  /** The change narrows a record to what the changes before it leave, so it is made only if all of them were made. */
  readonly settles?: true;
}

/**
 * As observed before the changes. `works`: it serves pods, but a tag is missing, or something that AWS may refuse
 * without harm. `broken`: it is missing, or new pods may not start. `notRead`: this pass had no reason to read it.
 */
export type Health = 'inOrder' | 'works' | 'broken' | 'notRead';

export interface KeptRole {
  readonly name: string;
  readonly usedBy: string;
}

export interface Plan {
  readonly changes: readonly Change[];
  readonly end: 'inOrder' | Reason;
  readonly profile: Health;
  readonly role: Health;
  readonly notices: readonly Reason[];
  /** Unwanted roles of this controller that stay, because `usedBy` uses them. */
  readonly kept: readonly KeptRole[];
}

/** Yields changes in their order, and returns the reason for which the plan ends after them. */
export type PlanPart = Generator<Change, Reason | undefined>;

export const change = (mutation: Mutation): Change => ({ mutation });
export const optional = (mutation: Mutation): Change => ({ mutation, optional: true });
export const settling = (mutation: Mutation): Change => ({ mutation, optional: true, settles: true });
