import { expect } from 'chai';
import { KernelWorld, SECOND } from './world.ts';

/** Three lives, the manager's in the middle ended and begun anew, with AWS and its delays as drawn from the seed. */
async function run(seed: number): Promise<string> {
  const world = new KernelWorld({ seed });
  const first = world.start();
  world.apply('a', 'b', 'c');
  await world.clock.advance(world.random.next() * 90 * SECOND);
  await world.stop(first);
  world.start();
  await world.ready('a', 'b', 'c');
  world.delete('a', 'b', 'c');
  await world.gone('a', 'b', 'c');
  await world.finish();
  return world.trace();
}

describe('determinism', () => {
  it('gives the same trace for the same seed, and another for another', async () => {
    const [first, second, other] = [await run(1), await run(1), await run(2)];
    expect(second.split('\n')).to.deep.equal(first.split('\n'));
    expect(other).not.to.equal(first);
  });
});
