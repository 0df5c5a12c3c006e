import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../support/eventually.ts';
import { fargateProfile, useWorld } from '../../world/world.ts';
import { EAGER, FIRST, OTHER, REPLACE, change, namesOf, profilesOf } from './records.ts';

/** The manager keeps a predecessor next to its successor for at least this long. */
const OVERLAP_MS = 30_000;

describe('a replacement whose new profile vanishes after 20 s', () => {
  const world = useWorld();
  before(async () => {
    await world.startManager(EAGER);
    await world.createEksCluster('prod');
  });

  it('keeps the old profile until the next one has been ACTIVE for 30 s', async () => {
    await world.apply(fargateProfile('web', { ...FIRST, ...REPLACE }));
    await world.ready('web');
    await change(world, 'web', OTHER);
    await world.condition('web', 'Ready', { status: 'True', reason: 'PredecessorKept' });
    await delay(20_000);
    const [lost] = profilesOf(world, 'web').filter(({ name }) => name.startsWith('9999-'));
    world.aws.admin.removeProfile({ cluster: 'default_prod-control-plane', name: '9999-default_web' });
    const next = await eventually(
      () => {
        const [found] = profilesOf(world, 'web').filter(({ name }) => name.startsWith('9999-'));
        return found !== undefined && found.arn !== lost?.arn && found;
      },
      { what: 'the next profile' },
    );
    await eventually(() => !namesOf(world, 'web').includes('default_web'), { what: 'the end of the old profile' });
    const deletion = world.aws.log
      .read({ operation: 'DeleteFargateProfile' })
      .find(({ identifiers }) => identifiers['fargateProfileName'] === 'default_web');
    // The manager uses the time in the Date header of AWS, which has whole seconds.
    expect(deletion?.at).to.be.above(next.createdAt + OVERLAP_MS - 1_000);
    await world.delete('web');
    await world.gone('web');
    expect(profilesOf(world, 'web')).to.deep.equal([]);
  });
});
