import { expect } from 'chai';
import type { Ms } from '../../pkg/env/clock.ts';
import type { Death } from './doomed.ts';
import { DoomedCluster } from './doomed.ts';
import { SECOND } from './world.ts';

/** The next manager looks at everything when it starts: nobody waits for the one that is dead. */
const LONGEST_DELAY: Ms = 3 * SECOND;

interface Life {
  /** From the deletion of the Cluster to the end of everything. */
  readonly duration: Ms;
  /** How often the manager could have been killed. */
  readonly deaths: Readonly<Record<Death['lost'], number>>;
}

async function live(death?: Death): Promise<Life> {
  const doomed = new DoomedCluster(death);
  const { world } = doomed;
  world.start();
  await doomed.ready();
  const duration = await doomed.gone();
  expect(doomed.findings()).to.deep.equal([]);
  expect(world.warnings()).to.deep.equal([]);
  await world.finish();
  return { duration, deaths: doomed.deaths };
}

describe('the teardown of a cluster with four profiles', function () {
  this.timeout(180_000);
  let undisturbed: Life;
  before(async () => {
    undisturbed = await live();
    expect(undisturbed.deaths.request, 'four profiles, three policies, two roles').to.equal(9);
    expect(undisturbed.deaths.answer).to.be.above(30);
  });

  for (const [lost, when] of [
    ['answer', 'after any one of its effects'],
    ['request', 'before any one of its changes in AWS'],
  ] as const)
    it(`is carried on at once when the manager is killed right ${when}`, async () => {
      const late: string[] = [];
      for (let nth = 1; nth <= undisturbed.deaths[lost]; nth++) {
        const { duration } = await live({ lost, nth }).catch((error: unknown) => {
          throw new Error(`killed ${when}, the one of number ${nth}`, { cause: error });
        });
        const delay = duration - undisturbed.duration;
        if (delay > LONGEST_DELAY) late.push(`number ${nth}: ${delay / SECOND} s later`);
      }
      expect(late).to.deep.equal([]);
    });
});
