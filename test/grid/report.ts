import { expect } from 'chai';
import type { Fault, GridCell } from './cells.ts';
import { FAULTS, allCells } from './cells.ts';
import type { Failure } from './grid.ts';
import { Grid } from './grid.ts';

/** How many failures of each fault are told in full; of the others the first line. */
const MOST_TOLD = 2;

/**
 * Has mocha run the chosen cells, with a test for each fault, and say at the end how many there were.
 * @param faults of which there is to be a cell; those of others are left out
 */
export function describeGrid(
  title: string,
  choose: (cells: readonly GridCell[]) => readonly GridCell[],
  faults: readonly Fault[] = FAULTS,
): void {
  describe(title, function () {
    this.timeout(30 * 60_000);
    let grid: Grid;
    let all: readonly GridCell[] = [];
    let chosen: readonly GridCell[] = [];
    let failures: readonly Failure[] = [];
    before(async () => {
      grid = await Grid.start();
    });
    after(async () => {
      await grid.stop();
    });

    it('goes well without faults', async () => {
      all = allCells(await grid.rehearse());
      chosen = choose(all).filter(({ fault }) => faults.includes(fault));
      expect(chosen).not.to.deep.equal([]);
    });

    it('has each cell lived through', async () => {
      expect(chosen, 'no rehearsal, no cells').not.to.deep.equal([]);
      failures = await grid.run(chosen);
      const scenarios = new Set(chosen.map(({ scenario }) => scenario));
      const calls = new Set(chosen.map(({ scenario, call }) => [scenario, call.operation, call.nth].join(' ')));
      const counts = `${scenarios.size} scenarios, ${calls.size} calls, ${faults.length} faults`;
      process.stdout.write(
        `      fault grid: ${chosen.length} of ${all.length} cells (${counts}): ${failures.length} failed\n`,
      );
    });

    for (const fault of faults) {
      it(`stands each call ${WORDS[fault]}`, () => {
        expect(chosen.filter((cell) => cell.fault === fault)).not.to.deep.equal([]);
        const failed = failures.filter(({ cell }) => cell.fault === fault).map(({ words }) => words);
        const told = failed.map((words, index) => (index < MOST_TOLD ? `${words}\n` : words.replace(/\n.*/s, '')));
        if (failed.length > 0) throw new Error(`${failed.length} cells failed:\n${told.join('\n')}`);
      });
    }
  });
}

const WORDS: Readonly<Record<Fault, string>> = {
  '500-before': 'that fails with 500 and has no effect',
  '500-after': 'that fails with 500 after it had its effect',
  'no-answer-after': 'that has its effect and is not answered',
  reset: 'whose connection is reset',
  'reset-after': 'whose connection is reset after it had its effect',
  throttle: 'that is throttled',
  'html-503': 'that a load balancer answers with a page of its own',
  kill: 'right after which the manager is killed',
};
