import { expect } from 'chai';
import type { Ms } from '../../../pkg/env/clock.ts';
import { SimulatedTeardown } from './simulated-teardown.ts';
import { SECOND } from '../world/cluster.ts';

/**
 * How much longer the deletion of a whole cluster may take if the manager is killed. The new manager lists all objects
 * when it starts, so it continues at once.
 */
const LONGEST_DELAY: Ms = 3 * SECOND;

/** `perturbations.property.test.ts` has the crashes after a change. */
describe('the teardown of a cluster with four profiles', () => {
  async function runTeardown(lostMutation?: number): Promise<{ readonly duration: Ms; readonly mutations: number }> {
    const teardown = new SimulatedTeardown(undefined, lostMutation);
    const { world } = teardown;
    world.start();
    await teardown.untilReady();
    const duration = await teardown.deleteCluster();
    expect(teardown.violations()).to.deep.equal([]);
    expect(world.warnings()).to.deep.equal([]);
    await world.finish();
    return { duration, mutations: teardown.mutations };
  }

  it('continues at once when the manager is killed right before any of its mutations of AWS', async () => {
    const baseline = await runTeardown();
    expect(baseline.mutations, 'four profiles, three policies, two roles').to.equal(9);
    const late: string[] = [];
    for (let nth = 1; nth <= baseline.mutations; nth++) {
      const { duration } = await runTeardown(nth).catch((error: unknown) => {
        throw new Error(`killed before mutation ${nth}`, { cause: error });
      });
      const delay = duration - baseline.duration;
      if (delay > LONGEST_DELAY) late.push(`number ${nth}: ${delay / SECOND} s later`);
    }
    expect(late).to.deep.equal([]);
  });
});
