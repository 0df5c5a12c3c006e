import { expect } from 'chai';
import { type FaultName, type FaultCase, allFaultCases } from './fault-cases.ts';
import { type FaultCaseFailure, FaultGrid } from './fault-grid.ts';

/**
 * For each fault, the tests show the whole error message of at most this many failed fault cases. Of the other failed
 * fault cases, the tests show only the first line of the error message.
 */
const MAX_SHOWN_ERRORS = 2;

/**
 * Defines the mocha tests for all fault cases with the given faults, with one test per fault. The tests print how many
 * fault cases ran and how many failed.
 */
export function describeGrid(title: string, faults: readonly FaultName[]): void {
  describe(title, function () {
    this.timeout(30 * 60_000);
    let grid: FaultGrid;
    let all: readonly FaultCase[] = [];
    let chosen: readonly FaultCase[] = [];
    let failures: readonly FaultCaseFailure[] = [];
    before(async () => {
      grid = await FaultGrid.start();
    });
    after(async () => {
      await grid.finish();
    });

    it('passes without faults', async () => {
      all = allFaultCases(await grid.runBaselines());
      chosen = all.filter(({ fault }) => faults.includes(fault));
      expect(chosen).not.to.deep.equal([]);
    });

    it('runs each chosen fault case', async () => {
      expect(chosen, 'fault cases need the baselines').not.to.deep.equal([]);
      failures = await grid.run(chosen);
      const scenarios = new Set(chosen.map(({ scenario }) => scenario));
      const calls = new Set(chosen.map(({ scenario, call }) => [scenario, call.operation, call.nth].join(' ')));
      const counts = `${scenarios.size} scenarios, ${calls.size} calls, ${faults.length} faults`;
      process.stdout.write(
        `      fault grid: ${chosen.length} of ${all.length} cases (${counts}): ${failures.length} failed\n`,
      );
    });

    for (const fault of faults) {
      it(`recovers from each call ${FAULT_DESCRIPTIONS[fault]}`, () => {
        expect(chosen.filter((faultCase) => faultCase.fault === fault)).not.to.deep.equal([]);
        const failed = failures.filter(({ faultCase }) => faultCase.fault === fault).map(({ message }) => message);
        const shown = failed.map((words, index) =>
          index < MAX_SHOWN_ERRORS ? `${words}\n` : words.replace(/\n.*/s, ''),
        );
        if (failed.length > 0) throw new Error(`${failed.length} cases failed:\n${shown.join('\n')}`);
      });
    }
  });
}

const FAULT_DESCRIPTIONS: Readonly<Record<FaultName, string>> = {
  '500-before': 'that fails with 500 and has no effect',
  '500-after': 'that fails with 500 after it had its effect',
  'no-answer-after': 'that has its effect and is not answered',
  reset: 'whose connection is reset',
  'reset-after': 'whose connection is reset after it had its effect',
  throttle: 'that is throttled',
  'html-503': 'that a load balancer answers with a page of its own',
  kill: 'right after which the manager is killed',
};
