import { expect } from 'chai';
import { sleep } from '../../pkg/env/deadline.ts';
import { EKS_CLUSTER, KernelWorld, SECOND } from './world.ts';

describe('a role that two objects share', () => {
  it('goes with them when they leave at once, however long the API server takes to let the first go', async () => {
    const names = ['a', 'b'];
    const world = new KernelWorld({ aws: { latencyMs: 5 } });
    // Somebody else’s profile is in the lane: no profile is there to put the ends of the objects in an order.
    world.aws.admin.putProfile({
      cluster: EKS_CLUSTER,
      name: 'theirs',
      podExecutionRoleArn: 'arn:aws:iam::123456789012:role/theirs',
      status: 'CREATING',
    });
    world.start();
    for (const name of names) world.applyWith(name, { roleName: 'shared-pods' });
    await world.until('both wait for their turn', () =>
      names.every((name) => world.condition(name)?.reason === 'WaitingForSibling'),
    );
    expect(world.aws.admin.roles().some(({ name }) => name === 'shared-pods')).to.equal(true);

    let releases = 0;
    world.api.intercept = async ({ method, body, signal }) => {
      const isRelease = method === 'PATCH' && String(body).includes('"finalizers"');
      if (isRelease) releases += 1;
      if (isRelease && releases === 1) await sleep(world.clock, 3 * SECOND, signal);
      return undefined;
    };
    world.delete(...names);
    await world.gone(...names);
    expect(releases).to.be.at.least(2);
    expect(world.aws.admin.roles().some(({ name }) => name === 'shared-pods')).to.equal(false);
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'theirs' });
    await world.finish();
  });
});
