import { expect } from 'chai';
import { SECOND } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e'];

describe('profiles that wait for other profiles of their EKS cluster', () => {
  it('are read from AWS when they are created and when their turn comes, and not meanwhile', async () => {
    const world = new SimulatedWorld({
      aws: { eks: { createMs: 4 * SECOND, deleteMs: 4 * SECOND }, latencyMs: [20, 20] },
    });
    world.start();
    world.apply(...NAMES);
    await world.ready(...NAMES);
    const calls = world.aws.admin.calls().filter(({ operation }) => operation.endsWith('FargateProfile'));
    const readsBeforeCreate = NAMES.map((name) => {
      const about = calls.filter(({ nouns }) => nouns['fargateProfileName'] === `default_${name}`);
      return about.findIndex(({ operation }) => operation === 'CreateFargateProfile');
    });
    expect(readsBeforeCreate).to.have.members([1, 2, 2, 2, 2]);
    await world.deleteAndFinish(...NAMES);
  });
});
