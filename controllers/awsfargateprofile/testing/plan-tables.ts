import { expect } from 'chai';
import { plan } from '../plan/plan.ts';
import type { DesiredInputs } from '../desired/desired.ts';
import type { Circumstances, Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { type ObjectParts, aDeletedObject, anObject, desiredOf, desiredOfDeletion } from './builders.ts';
import { describePlan } from './mutations.ts';

/** Returns what is desired: it follows from the object and from what a reconcile has read from AWS. */
export type Desires = (seen: Observed) => Desired;

/** Returns the AWSFargateProfile `team-a/web` with these parts. `change` replaces parts of what is desired. */
export const living =
  (parts: ObjectParts = {}, over: Partial<DesiredInputs> = {}, change: Partial<Circumstances> = {}): Desires =>
  (seen) => ({ ...desiredOf(anObject(parts), over, seen), ...change });

/** Like {@link living}, after `kubectl delete`. */
export const deleted =
  (parts: ObjectParts = {}, over: Partial<DesiredInputs> = {}, change: Partial<Circumstances> = {}): Desires =>
  (seen) => ({ ...desiredOfDeletion(aDeletedObject(parts), over, seen), ...change });

/** A situation, and the whole plan for it in the words of `describePlan`. */
type PlanRow = readonly [situation: string, desires: Desires, seen: Observed, plan: string];
type PlanTables = Readonly<Record<string, readonly PlanRow[]>>;

/** Returns rows that all have the same plan. */
export const withPlan = (expected: string, ...rows: readonly (readonly [string, Desires, Observed])[]): PlanRow[] =>
  rows.map((row) => [...row, expected]);

/** Defines a test for each row. */
export function testPlans(tables: PlanTables): void {
  for (const [topic, rows] of Object.entries(tables))
    describe(topic, () => {
      for (const [situation, desires, seen, expected] of rows)
        it(`${situation}: ${expected}`, () => expect(describePlan(plan(desires(seen), seen))).to.equal(expected));
    });
}
