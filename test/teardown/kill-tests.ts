import { expect } from 'chai';
import type { CallRecord } from '../aws/call-log.ts';
import { formatCall } from './teardown-objects.ts';
import { type KillPoint, allKillPoints, killPointText } from './kill-points.ts';
import { type TeardownOutcome, TeardownRunner } from './teardown-runner.ts';

/** The largest number of failed teardowns whose error messages the test shows. */
const MAX_SHOWN_ERRORS = 3;
/**
 * How often the test tries at most to kill the manager at one AWS call. Sometimes the manager makes one AWS call less
 * than in the teardown in which the AWS calls were counted, and never makes this call.
 */
const TRIES = 3;
/**
 * The number of AWS calls by which a teardown may be shorter than a rehearsal (a teardown in which the manager is not
 * killed). If EKS deletes a Fargate profile earlier, the manager polls less often.
 */
const MOST_FEWER_CALLS = 2;

/**
 * Defines the mocha tests that kill the manager at each AWS call of a teardown. The tests print how many teardowns ran
 * and how many failed.
 * @param rehearsals the number of teardowns without a kill, which show the AWS calls of a teardown. The tests use the
 * calls of the teardown with the fewest calls, because the number of polls varies.
 */
export function describeTeardownKills(rehearsals: number): void {
  describe('kill -9 in the teardown of a cluster with four profiles, at every call', function () {
    this.timeout(30 * 60_000);
    let teardowns: TeardownRunner;
    let calls: readonly CallRecord[] = [];
    let outcomes: readonly TeardownOutcome[] = [];

    before(async function () {
      this.timeout(0); // no time limit: the first run builds binaries from Go modules
      teardowns = await TeardownRunner.start(this);
    });
    after(() => teardowns.finish());

    it('succeeds without a kill', async () => {
      const never: KillPoint = { lost: 'answer', of: 'call', nth: Infinity };
      const unharmed = await teardowns.run(Array.from({ length: rehearsals }, () => never));
      for (const { failure } of unharmed) if (failure !== undefined) throw new Error(failure);
      for (const { calls: each } of unharmed) {
        const changes = each.filter(({ mutates }) => mutates).map(({ operation }) => operation);
        expect(changes, 'four profiles, three policies, two roles').to.have.length(9);
      }
      calls = unharmed
        .map((each) => each.calls)
        .reduce((shortest, each) => (each.length < shortest.length ? each : shortest));
    });

    it('ends after a kill at each kill point', async () => {
      expect(calls, 'kill points need a teardown without a kill').not.to.deep.equal([]);
      outcomes = await runKillPoints(teardowns, allKillPoints(calls));
      const counts = `${outcomes.length} kill points, ${calls.length} calls`;
      const failed = outcomes.filter(({ failure }) => failure !== undefined).length;
      process.stdout.write(`      kill -9 in a teardown: ${counts}: ${failed} failed\n`);
      expect(outcomes.filter(hasMissedKillPoint).map(({ killPoint }) => killPointText(killPoint))).to.deep.equal([]);
    });

    for (const [lost, failure] of [
      ['answer', 'after a call that had its effect'],
      ['request', 'before a change'],
    ] as const) {
      it(`leaves nothing, changes nothing foreign, and reports correct statuses, killed right ${failure}`, () => {
        const lived = outcomes.filter(({ killPoint }) => killPoint.lost === lost);
        expect(lived).not.to.deep.equal([]);
        const failed = lived.flatMap(({ failure: wrong, killedAt }) =>
          wrong === undefined ? [] : [`${killedAt === undefined ? '' : formatCall(killedAt)}\n${wrong}`],
        );
        if (failed.length > 0)
          throw new Error(
            `${failed.length} of ${lived.length} failed:\n${failed.slice(0, MAX_SHOWN_ERRORS).join('\n\n')}`,
          );
      });
    }
  });
}

/**
 * Whether the manager never made the AWS call at which the test should have killed it. Exception: false, if the kill
 * point is the n-th of all AWS calls and the manager made only n-1 or n-2 calls, because the number of polls varies.
 */
const hasMissedKillPoint = ({ killedAt, killPoint, calls }: TeardownOutcome): boolean => {
  const fewer = killPoint.nth - calls.length;
  const isBeyondEnd = killPoint.of === 'call' && fewer > 0 && fewer <= MOST_FEWER_CALLS;
  return killedAt === undefined && !isBeyondEnd;
};

/**
 * Runs one teardown per kill point, the AWS call at which the manager is killed. If the manager does not make this
 * call, the teardown is tried again, up to three times in all.
 */
async function runKillPoints(
  teardowns: TeardownRunner,
  killPoints: readonly KillPoint[],
): Promise<readonly TeardownOutcome[]> {
  const done: TeardownOutcome[] = [];
  let left = killPoints;
  for (let round = 1; left.length > 0; round++) {
    const outcomes = await teardowns.run(left);
    const mustTryAgain = ({ killedAt, failure }: TeardownOutcome): boolean =>
      killedAt === undefined && failure === undefined;
    done.push(...outcomes.filter((outcome) => !mustTryAgain(outcome) || round === TRIES));
    left = round === TRIES ? [] : outcomes.filter(mustTryAgain).map(({ killPoint }) => killPoint);
  }
  return done;
}
