import { expect } from 'chai';
import { callsFromNow } from '../world/calls.ts';
import { eventually } from '../support/eventually.ts';
import { startManager } from '../world/manager.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, controlPlanePath, fargateProfile, pathOf, startWorld } from '../world/world.ts';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const GUARD = 'aws-fargate.cluster.x-k8s.io/profiles';
const FILTER = 'cluster.x-k8s.io/watch-filter';

describe('the scope of a manager', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.finish());

  /** As an object is that no manager has ever seen. */
  async function expectUntouched(name: string, namespace = 'default'): Promise<void> {
    const object = await world.profile(name, namespace);
    expect(object?.metadata.finalizers).to.equal(undefined);
    expect(object?.metadata.ownerReferences).to.equal(undefined);
    expect(object?.status).to.deep.equal({ observedGeneration: -1 });
    expect(await world.events(name, namespace)).to.deep.equal([]);
  }

  describe('with --namespace', () => {
    before(async () => {
      await world.createNamespace('team-a');
      await world.createNamespace('team-b');
      await world.createEksCluster('prod', { namespace: 'team-a' });
      await world.createEksCluster('prod', { namespace: 'team-b' });
      await world.startManager({ flags: ['--namespace', 'team-a'] });
    });
    after(() => world.stopManager());

    it('looks after the objects of that namespace alone', async () => {
      await world.apply(fargateProfile('web', {}, { namespace: 'team-b' }));
      await world.apply(fargateProfile('web', {}, { namespace: 'team-a' }));
      await world.ready('web', { namespace: 'team-a' });
      await expectUntouched('web', 'team-b');
      expect(world.aws.admin.profiles().map(({ name }) => name)).to.deep.equal(['team-a_web']);
      await world.delete('web', 'team-b');
      await world.gone('web', { namespace: 'team-b' });
      await world.delete('web', 'team-a');
      await world.gone('web', { namespace: 'team-a' });
    });

    it('leaves a role that an object of another namespace names, which it cannot see in its cache', async () => {
      const share = { roleName: 'team-pods' };
      await world.apply(fargateProfile('theirs', share, { namespace: 'team-b', finalizers: [FINALIZER] }));
      // The manager of that namespace has found out in which account it is.
      await world.controlPlane.api.patch(`${pathOf('theirs', 'team-b')}/status`, { status: { account: ACCOUNT } });
      await world.apply(fargateProfile('ours', share, { namespace: 'team-a' }));
      await world.ready('ours', { namespace: 'team-a' });
      await world.delete('ours', 'team-a');
      await world.gone('ours', { namespace: 'team-a' });
      expect(world.inAws.role('team-pods')?.attachedPolicies).to.have.length(1);
      await world.patch('theirs', { metadata: { finalizers: null } }, 'team-b');
      await world.delete('theirs', 'team-b');
      world.aws.admin.removeRole({ name: 'team-pods' });
    });
  });

  describe('with --watch-filter', () => {
    const labelled = (name: string, filter: string | undefined, spec: object = {}): object =>
      fargateProfile(
        name,
        { clusterName: 'filtered', ...spec },
        filter === undefined ? {} : { labels: { [FILTER]: filter } },
      );

    before(async () => {
      // Cluster and control plane need no such label: they are read for whoever names them.
      await world.createEksCluster('filtered');
      await world.startManager({ flags: ['--watch-filter', 'blue'] });
    });
    after(() => world.stopManager());

    it('looks after the objects whose label has that value', async () => {
      await world.apply(labelled('green', 'green'), labelled('plain', undefined), labelled('blue', 'blue'));
      await world.ready('blue');
      await expectUntouched('green');
      await expectUntouched('plain');
      for (const name of ['green', 'plain']) await world.delete(name);
    });

    it('takes over an object that gets the label, and lets one alone that loses it, until it has it again', async () => {
      await world.apply(labelled('moving', undefined));
      await world.patch('moving', { metadata: { labels: { [FILTER]: 'blue' } } });
      await world.ready('moving');
      await world.patch('moving', { metadata: { labels: { [FILTER]: 'green' } } });
      const calls = callsFromNow(world.aws);
      await world.delete('moving');
      // Another one's whole life: what there was to see of the first has been seen by then.
      await world.apply(labelled('meanwhile', 'blue'));
      await world.ready('meanwhile');
      await world.delete('meanwhile');
      await world.gone('meanwhile');
      expect((await world.profile('moving'))?.metadata.finalizers).to.deep.equal([FINALIZER]);
      expect(calls.about('default_moving')).to.deep.equal([]);
      await world.patch('moving', { metadata: { labels: { [FILTER]: 'blue' } } });
      await world.gone('moving');
    });

    it('sees objects of all filters where something would be taken away: the role and the guard stay while one needs them', async () => {
      const share = { roleName: 'filtered-pods' };
      await world.apply(labelled('shares-blue', 'blue', share));
      await world.ready('shares-blue');
      await world.apply(labelled('shares-green', 'green', share));
      await world.patch('shares-green', { metadata: { finalizers: [FINALIZER] } });
      for (const name of ['blue', 'shares-blue']) {
        await world.delete(name).catch(() => undefined);
        await world.gone(name);
      }
      expect(world.inAws.role('filtered-pods')?.attachedPolicies).to.have.length(1);
      expect((await world.controlPlane.api.get(controlPlanePath('filtered'))).metadata.finalizers).to.deep.equal([
        GUARD,
      ]);
      // Now it is everybody's business.
      await world.patch('shares-green', { metadata: { labels: { [FILTER]: 'blue' } } });
      await world.ready('shares-green');
      await world.delete('shares-green');
      await world.gone('shares-green');
      expect(world.inAws.role('filtered-pods')).to.equal(undefined);
      await eventually(async () => {
        expect((await world.controlPlane.api.get(controlPlanePath('filtered'))).metadata.finalizers).to.equal(
          undefined,
        );
      });
    });

    it('refuses a value that no label can have', async () => {
      const flags = ['--watch-filter', 'a,b'];
      const manager = await startManager(world.controlPlane, { awsUrl: world.awsUrl, flags, waitUntilReady: false });
      expect((await manager.exited).code).to.equal(2);
      expect(manager.log()).to.contain('--watch-filter: "a,b" is no value of a label');
    });
  });
});
