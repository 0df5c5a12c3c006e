import { expect } from 'chai';
import type { CallRecord } from '../aws/call-log.ts';
import { callText } from './cell.ts';
import type { Moment } from './moment.ts';
import { allMoments, momentText } from './moment.ts';
import type { Outcome } from './teardowns.ts';
import { Teardowns } from './teardowns.ts';

/** How many failures are told in full. */
const MOST_TOLD = 3;
/** A teardown may make a call more or less than the recorded one: what was over before its moment is lived through again. */
const TRIES = 3;

/**
 * Has mocha live through the chosen moments, and say at the end how many there were.
 * @param rehearsals teardowns without a kill: the moments are those of the one with the fewest calls, since who waits for its turn
 *   may look once more
 */
export function describeTeardownKills(
  title: string,
  choose: (calls: readonly CallRecord[]) => readonly Moment[],
  rehearsals = 1,
): void {
  describe(`kill -9 in the teardown of a cluster with four profiles, ${title}`, function () {
    this.timeout(30 * 60_000);
    let teardowns: Teardowns;
    let calls: readonly CallRecord[] = [];
    let outcomes: readonly Outcome[] = [];

    before(async function () {
      this.timeout(0); // the first time binaries are built from Go modules
      teardowns = await Teardowns.start(this);
    });
    after(() => teardowns.finish());

    it('goes well without a kill', async () => {
      const never: Moment = { lost: 'answer', of: 'call', nth: Infinity };
      const unharmed = await teardowns.run(Array.from({ length: rehearsals }, () => never));
      for (const { words } of unharmed) if (words !== undefined) throw new Error(words);
      for (const { calls: each } of unharmed) {
        const changes = each.filter(({ mutates }) => mutates).map(({ operation }) => operation);
        expect(changes, 'four profiles, three policies, two roles').to.have.length(9);
      }
      calls = unharmed
        .map((each) => each.calls)
        .reduce((shortest, each) => (each.length < shortest.length ? each : shortest));
    });

    it('is lived through to the end, killed at each chosen moment', async () => {
      expect(calls, 'no teardown without a kill, no moments').not.to.deep.equal([]);
      outcomes = await livedThrough(teardowns, choose(calls));
      const counts = `${outcomes.length} of ${allMoments(calls).length} moments, ${calls.length} calls`;
      const failed = outcomes.filter(({ words }) => words !== undefined).length;
      process.stdout.write(`      kill -9 in a teardown: ${counts}: ${failed} failed\n`);
      expect(
        outcomes.filter(({ struck }) => struck === undefined).map(({ moment }) => momentText(moment)),
      ).to.deep.equal([]);
    });

    for (const [lost, words] of [
      ['answer', 'after a call that had its effect'],
      ['request', 'before a change'],
    ] as const) {
      it(`leaves nothing, touches nothing foreign, and tells the truth, killed right ${words}`, () => {
        const lived = outcomes.filter(({ moment }) => moment.lost === lost);
        expect(lived).not.to.deep.equal([]);
        const failed = lived.flatMap(({ words: wrong, struck }) =>
          wrong === undefined ? [] : [`${struck === undefined ? '' : callText(struck)}\n${wrong}`],
        );
        if (failed.length > 0)
          throw new Error(`${failed.length} of ${lived.length} failed:\n${failed.slice(0, MOST_TOLD).join('\n\n')}`);
      });
    }
  });
}

/** An outcome for each moment; one that was over before its moment only where that has come three times. */
async function livedThrough(teardowns: Teardowns, moments: readonly Moment[]): Promise<readonly Outcome[]> {
  const done: Outcome[] = [];
  let left = moments;
  for (let round = 1; left.length > 0; round++) {
    const outcomes = await teardowns.run(left);
    const isOver = ({ struck, words }: Outcome): boolean => struck === undefined && words === undefined;
    done.push(...outcomes.filter((outcome) => !isOver(outcome) || round === TRIES));
    left = round === TRIES ? [] : outcomes.filter(isOver).map(({ moment }) => moment);
  }
  return done;
}
