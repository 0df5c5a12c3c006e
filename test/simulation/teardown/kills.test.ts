import { expect } from 'chai';
import type { Ms } from '../../../pkg/env/clock.ts';
import { type SimulatedKillPoint, SimulatedTeardown } from './simulated-teardown.ts';
import { SECOND } from '../world/cluster.ts';

/**
 * How much longer the deletion of a whole cluster may take if the manager is killed. The new manager lists all objects
 * when it starts, so it continues at once.
 */
const LONGEST_DELAY: Ms = 3 * SECOND;

interface TeardownRun {
  /**
   * The time from the deletion of the Cluster until the Cluster, its AWSFargateProfiles and its EKS cluster are gone.
   */
  readonly duration: Ms;
  /**
   * The number of moments at which the test can kill the manager: `answer` counts the moments after AWS or the API
   * server has executed a change and before the manager gets the answer, `request` the moments before AWS executes a
   * change.
   */
  readonly killPoints: Readonly<Record<SimulatedKillPoint['lost'], number>>;
}

async function runTeardown(killPoint?: SimulatedKillPoint): Promise<TeardownRun> {
  const teardown = new SimulatedTeardown(killPoint);
  const { world } = teardown;
  world.start();
  await teardown.untilReady();
  const duration = await teardown.deleteCluster();
  expect(teardown.violations()).to.deep.equal([]);
  expect(world.warnings()).to.deep.equal([]);
  await world.finish();
  return { duration, killPoints: teardown.killPoints };
}

describe('the teardown of a cluster with four profiles', () => {
  let baseline: TeardownRun;
  before(async () => {
    baseline = await runTeardown();
    expect(baseline.killPoints.request, 'four profiles, three policies, two roles').to.equal(9);
    expect(baseline.killPoints.answer).to.be.above(30);
  });

  for (const [lost, when] of [
    ['answer', 'after any of its changes'],
    ['request', 'before any of its mutations of AWS'],
  ] as const)
    it(`continues at once when the manager is killed right ${when}`, async () => {
      const late: string[] = [];
      for (let nth = 1; nth <= baseline.killPoints[lost]; nth++) {
        const { duration } = await runTeardown({ lost, nth }).catch((error: unknown) => {
          throw new Error(`killed ${when}, number ${nth}`, { cause: error });
        });
        const delay = duration - baseline.duration;
        if (delay > LONGEST_DELAY) late.push(`number ${nth}: ${delay / SECOND} s later`);
      }
      expect(late).to.deep.equal([]);
    });
});
