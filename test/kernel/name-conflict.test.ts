import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { EKS_CLUSTER, KernelWorld } from './world.ts';

const PROFILE = { cluster: EKS_CLUSTER, name: 'default_web' };
const THEIR_ROLE = 'arn:aws:iam::123456789012:role/theirs';

/** The object asks for its profile, and somebody makes one of that name at this very moment. */
async function outrun(): Promise<KernelWorld> {
  const world = new KernelWorld();
  let isOutrun = false;
  world.api.intercept = ({ method, body }) => {
    const isAskedFor = method === 'PATCH' && String(body).includes('"createRequestedAt"');
    if (isAskedFor && !isOutrun) {
      isOutrun = true;
      world.aws.admin.putProfile({ ...PROFILE, podExecutionRoleArn: THEIR_ROLE, tags: { made: 'by hand' } });
    }
    return undefined;
  };
  world.start();
  world.apply('web');
  await world.until('it is told', () => world.condition('web', 'Stalled')?.reason === 'ProfileNotOwned');
  return world;
}

const eventsOf = (world: KernelWorld): readonly unknown[] => world.objects('events').map((event) => event['reason']);

describe('a profile that somebody else makes at the same moment', () => {
  it('is not told of, nor its end, as of one of ours', async () => {
    const world = await outrun();
    expect(world.mutations().map(({ operation }) => operation)).to.include('CreateFargateProfile');
    expect(world.profile('web')?.['status']).not.to.have.any.keys('profileARN', 'createRequestedAt');
    world.aws.admin.setProfile({ ...PROFILE, status: 'DELETING' });
    world.patch(PLURAL, 'web', { metadata: { annotations: { look: 'DELETING' } } });
    await world.clock.advance(2_000);
    world.aws.admin.removeProfile(PROFILE);
    world.patch(PLURAL, 'web', { metadata: { annotations: { look: 'gone' } } });
    await world.clock.advance(2_000);
    expect(eventsOf(world)).to.deep.equal([
      'SuccessfulIAMRoleCreation',
      'ProfileNotOwned',
      'InitiatedCreateEKSFargateProfile',
    ]);
    await world.ready('web');
    world.delete('web');
    await world.gone('web');
    await world.finish();
  });
});
