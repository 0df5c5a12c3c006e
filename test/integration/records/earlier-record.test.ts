import { expect } from 'chai';
import { endAll } from '../../support/end-all.ts';
import { eventually } from '../../support/eventually.ts';
import { clusterObject, controlPlaneObject, networkOf } from '../../world/manifests.ts';
import { type World, controlPlanePath, fargateProfile, startWorld, useWorld } from '../../world/world.ts';
import {
  EAGER,
  FIRST,
  OTHER,
  REPLACE,
  THIRD,
  backUp,
  change,
  changesFromNow,
  idOf,
  lose,
  namesOf,
  profilesOf,
  restore,
  severalComparisons,
  TAKE_OVER,
} from './records.ts';

const EKS_CLUSTER = 'default_prod-control-plane';

describe('a backup that was taken while EKS created the profile', () => {
  const world = useWorld();
  before(async () => {
    await world.createEksCluster('prod');
  });

  for (const isAppliedAgain of [false, true])
    it(`deletes no profile that was created since, ${isAppliedAgain ? 'and Git has applied its spec again' : 'and that differs from the spec of the backup'}`, async () => {
      const name = isAppliedAgain ? 'applied' : 'restored';
      await world.startManager(EAGER);
      world.aws.admin.setConfig({ eks: { createMs: 2_000 } });
      await world.apply(fargateProfile(name, FIRST));
      await world.condition(name, 'Ready', { status: 'False', reason: 'Creating' });
      const backup = await backUp(world, name);
      world.aws.admin.setConfig({ eks: { createMs: 300 } });
      await world.ready(name);
      await world.delete(name);
      await world.gone(name);
      await world.apply(fargateProfile(name, OTHER));
      await world.ready(name);
      await world.stopManager();
      const serving = profilesOf(world, name);
      const changes = changesFromNow(world, name);
      await lose(world, name);
      await restore(world, backup, isAppliedAgain ? { spec: OTHER } : {});
      await world.startManager(EAGER);
      if (isAppliedAgain) await world.ready(name);
      else await world.condition(name, 'Stalled', { status: 'True', reason: 'SpecDiffers' });
      await severalComparisons();
      expect(changes()).to.deep.equal([]);
      expect(profilesOf(world, name)).to.deep.equal(serving);
      await world.delete(name);
      await world.gone(name);
      expect(profilesOf(world, name)).to.deep.equal([]);
      await world.stopManager();
    });
});

describe('two management clusters with different specs of one object', () => {
  let home: World;
  let away: World;
  before(async () => {
    home = await startWorld();
    away = await startWorld({ shareAwsWith: home });
    const { subnets } = await home.createEksCluster('prod');
    const labels = { 'cluster.x-k8s.io/cluster-name': 'prod' };
    const spec = { eksClusterName: EKS_CLUSTER, region: 'us-east-1', network: networkOf('prod', subnets) };
    await away.apply(clusterObject('prod'), controlPlaneObject('prod', spec, { labels }));
    await away.controlPlane.api.patch(`${controlPlanePath('prod')}/status`, { status: { ready: true } });
    await home.startManager(EAGER);
    await away.startManager(EAGER);
  });
  after(() =>
    endAll(
      () => away.finish(),
      () => home.finish(),
    ),
  );

  it('replace the profile once, and then the one whose profile it was stops until a user decides', async () => {
    await home.apply(fargateProfile('web', { ...FIRST, ...REPLACE }));
    await home.ready('web');
    const backup = await backUp(home, 'web');
    const changes = changesFromNow(home, 'web');
    await restore(away, backup, { spec: OTHER });
    await away.condition('web', 'Ready', { status: 'True', reason: 'PredecessorKept' });
    await eventually(() => !namesOf(home, 'web').includes('default_web'), { what: 'the end of the replacement' });
    await home.condition('web', 'Stalled', { status: 'True', reason: 'ManagedElsewhere' });
    await away.condition('web', 'Ready', { status: 'True', reason: 'Ready' });
    await severalComparisons();
    expect(changes()).to.deep.equal(['Create 9999-default_web', 'Delete default_web']);
    const { status } = await backUp(home, 'web');
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'Ready at home').to.equal('False');
  });

  it('change nothing while the one waits, whatever its user asks for, also to delete it', async () => {
    const changes = changesFromNow(home, 'web');
    await change(home, 'web', THIRD);
    await home.delete('web');
    await home.condition('web', 'Deleting', { status: 'True', reason: 'ManagedElsewhere' });
    await severalComparisons();
    expect(changes()).to.deep.equal([]);
    await away.ready('web');
  });

  it('leave the profile to the other one with Retain, and to this one with take-over', async () => {
    const [profile] = profilesOf(home, 'web');
    if (profile === undefined) expect.fail('the profile is gone');
    const changes = changesFromNow(home, 'web');
    await change(home, 'web', { deletionPolicy: 'Retain' });
    await home.gone('web');
    expect(changes()).to.deep.equal([]);
    // The object gets its first spec again in the home cluster, and its user takes the profile over with an annotation.
    await away.stopManager();
    await lose(away, 'web');
    const annotations = { [TAKE_OVER]: idOf(profile) };
    await home.apply(fargateProfile('web', { ...FIRST, ...REPLACE }, { annotations }));
    await home.condition('web', 'Ready', { status: 'True', reason: 'PredecessorKept' });
    expect(changes()).to.deep.equal(['Create 9998-default_web']);
    await home.delete('web');
    await home.gone('web');
    expect(profilesOf(home, 'web')).to.deep.equal([]);
  });
});
