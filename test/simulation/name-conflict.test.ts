import { expect } from 'chai';
import { SimulatedWorld } from './world/simulated-world.ts';
import { EKS_CLUSTER } from './world/cluster.ts';
import { recordedIn } from './world/records.ts';

const PROFILE = { cluster: EKS_CLUSTER, name: 'default_web' };
const THEIR_ROLE = 'arn:aws:iam::123456789012:role/theirs';

/**
 * Starts a simulation in which another AWS client creates a Fargate profile just before the manager sends
 * CreateFargateProfile with the same name.
 */
async function startWithForeignCreate(): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  let isCreated = false;
  world.api.intercept = ({ method, body }) => {
    const isRequested = method === 'PATCH' && /profiles[^\]]*requestedAt/.test(String(body));
    if (isRequested && !isCreated) {
      isCreated = true;
      world.aws.admin.putProfile({ ...PROFILE, podExecutionRoleArn: THEIR_ROLE, tags: { made: 'by hand' } });
    }
    return undefined;
  };
  world.start();
  world.apply('web');
  await world.until('ProfileNotOwned', () => world.condition('web', 'Stalled')?.reason === 'ProfileNotOwned');
  return world;
}

describe('a foreign profile of the same name, without a tag that names an owner', () => {
  it('is reported as foreign, although a manager was killed before it could write its first status', async () => {
    const world = new SimulatedWorld();
    world.aws.admin.putProfile({ ...PROFILE, podExecutionRoleArn: THEIR_ROLE, tags: { made: 'by hand' } });
    const killed = world.start();
    world.api.intercept = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/status') || killed.ended !== undefined) return undefined;
      killed.kill();
      return new Error('the manager is gone');
    };
    world.apply('web');
    await world.until('the manager killed', () => killed.ended !== undefined);
    world.start();
    await world.until('a problem', () => world.condition('web', 'Stalled')?.status === 'True');
    expect(world.condition('web', 'Stalled')?.reason).to.equal('ProfileNotOwned');
    world.aws.admin.removeProfile(PROFILE);
    world.triggerReconcile('web');
    await world.ready('web');
    await world.deleteAndFinish('web');
  });
});

describe('a foreign profile of the same name, created at the same moment', () => {
  it('gets no events of creation and deletion', async () => {
    const world = await startWithForeignCreate();
    expect(world.mutations().map(({ operation }) => operation)).to.include('CreateFargateProfile');
    expect(world.profile('web')?.['status']).not.to.have.any.keys('profileARN', 'createRequestedAt');
    expect(recordedIn(world.profile('web'), 'profiles')).to.deep.equal([]);
    world.aws.admin.setProfile({ ...PROFILE, status: 'DELETING' });
    world.triggerReconcile('web');
    await world.clock.advance(2_000);
    world.aws.admin.removeProfile(PROFILE);
    world.triggerReconcile('web');
    await world.clock.advance(2_000);
    expect(world.eventReasons).to.deep.equal([
      'SuccessfulIAMRoleCreation',
      'ProfileNotOwned',
      'InitiatedCreateEKSFargateProfile',
    ]);
    await world.ready('web');
    await world.deleteAndFinish('web');
  });
});
