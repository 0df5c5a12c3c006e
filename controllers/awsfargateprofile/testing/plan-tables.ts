import { expect } from 'chai';
import { plan } from '../decide/plan.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { describePlan } from './mutations.ts';

/** A situation, and the whole plan for it in the words of `describePlan`. */
export type PlanRow = readonly [situation: string, desired: Desired, seen: Observed, plan: string];
type PlanTables = Readonly<Record<string, readonly PlanRow[]>>;

/** Returns rows that all have the same plan. */
export const withPlan = (expected: string, ...rows: readonly (readonly [string, Desired, Observed])[]): PlanRow[] =>
  rows.map((row) => [...row, expected]);

/** Defines a test for each row. */
export function testPlans(tables: PlanTables): void {
  for (const [topic, rows] of Object.entries(tables))
    describe(topic, () => {
      for (const [situation, desired, seen, expected] of rows)
        it(`${situation}: ${expected}`, () => expect(describePlan(plan(desired, seen))).to.equal(expected));
    });
}
