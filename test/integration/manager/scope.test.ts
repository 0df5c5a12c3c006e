import { expect } from 'chai';
import { callsFromNow } from '../../world/aws/calls.ts';
import { eventually } from '../../support/eventually.ts';
import { startManager } from '../../world/manager/manager.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, controlPlanePath, fargateProfile, pathOf, startWorld } from '../../world/world.ts';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const CONTROL_PLANE_FINALIZER = 'aws-fargate.cluster.x-k8s.io/profiles';
const FILTER = 'cluster.x-k8s.io/watch-filter';

describe('the scope of a manager', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.finish());

  /** Expects that the manager has written no finalizer, owner reference, status or Event for the AWSFargateProfile. */
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
      for (const namespace of ['team-a', 'team-b'])
        await world.controlPlane.api.patch(controlPlanePath('prod', namespace), {
          metadata: { finalizers: [CONTROL_PLANE_FINALIZER] },
        });
      await world.startManager({ flags: ['--namespace', 'team-a'] });
    });
    after(() => world.stopManager());

    it('removes the control plane finalizers that an earlier manager has left in this namespace alone', async () => {
      const finalizersIn = async (namespace: string) =>
        (await world.controlPlane.api.get(controlPlanePath('prod', namespace))).metadata.finalizers;
      await eventually(async () => (await finalizersIn('team-a')) === undefined, { what: 'the removal' });
      expect(await finalizersIn('team-b')).to.deep.equal([CONTROL_PLANE_FINALIZER]);
      await world.controlPlane.api.patch(controlPlanePath('prod', 'team-b'), { metadata: { finalizers: null } });
    });

    it('reconciles the objects of this namespace alone', async () => {
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

    it('keeps a role that an object of another namespace uses, although its cache has no objects of other namespaces', async () => {
      const share = { roleName: 'team-pods' };
      await world.apply(fargateProfile('theirs', share, { namespace: 'team-b', finalizers: [FINALIZER] }));
      // No manager reconciles the namespace team-b in this test. So the test itself writes the status of the
      // AWSFargateProfile `theirs`. According to this status, `theirs` belongs to the EKS cluster of the namespace
      // team-a.
      const status = { account: ACCOUNT, region: 'us-east-1', eksClusterName: 'team-a_prod-control-plane' };
      await world.controlPlane.api.patch(`${pathOf('theirs', 'team-b')}/status`, { status });
      await world.apply(fargateProfile('ours', share, { namespace: 'team-a' }));
      await world.ready('ours', { namespace: 'team-a' });
      await world.delete('ours', 'team-a');
      await world.gone('ours', { namespace: 'team-a' });
      expect(world.awsView.role('team-pods')?.attachedPolicies).to.have.length(1);
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
      // A manager with --watch-filter reads all Clusters and control planes. So the Cluster and the control plane of
      // this test need no watch-filter label.
      await world.createEksCluster('filtered');
      await world.startManager({ flags: ['--watch-filter', 'blue'] });
    });
    after(() => world.stopManager());

    it('reconciles the objects with this label value', async () => {
      await world.apply(labelled('green', 'green'), labelled('plain', undefined), labelled('blue', 'blue'));
      await world.ready('blue');
      await expectUntouched('green');
      await expectUntouched('plain');
      for (const name of ['green', 'plain']) await world.delete(name);
    });

    it('reconciles an object once it gets the label, and ignores the object while it lacks the label', async () => {
      await world.apply(labelled('moving', undefined));
      await world.patch('moving', { metadata: { labels: { [FILTER]: 'blue' } } });
      await world.ready('moving');
      await world.patch('moving', { metadata: { labels: { [FILTER]: 'green' } } });
      const calls = callsFromNow(world.aws);
      await world.delete('moving');
      // The manager handles watch events in order. When it has reconciled the AWSFargateProfile `meanwhile` from its
      // creation to its deletion, it has also seen the earlier changes of `moving`.
      await world.apply(labelled('meanwhile', 'blue'));
      await world.ready('meanwhile');
      await world.delete('meanwhile');
      await world.gone('meanwhile');
      expect((await world.profile('moving'))?.metadata.finalizers).to.deep.equal([FINALIZER]);
      expect(calls.about('default_moving')).to.deep.equal([]);
      await world.patch('moving', { metadata: { labels: { [FILTER]: 'blue' } } });
      await world.gone('moving');
    });

    it('keeps a role and a control plane finalizer that objects of other filters need', async () => {
      const share = { roleName: 'filtered-pods' };
      await world.apply(labelled('shares-blue', 'blue', share));
      await world.ready('shares-blue');
      await world.apply(labelled('shares-green', 'green', share));
      await world.patch('shares-green', { metadata: { finalizers: [FINALIZER] } });
      for (const name of ['blue', 'shares-blue']) {
        await world.delete(name).catch(() => undefined);
        await world.gone(name);
      }
      expect(world.awsView.role('filtered-pods')?.attachedPolicies).to.have.length(1);
      expect((await world.controlPlane.api.get(controlPlanePath('filtered'))).metadata.finalizers).to.deep.equal([
        CONTROL_PLANE_FINALIZER,
      ]);
      // The manager now also reconciles `shares-green`, because this AWSFargateProfile gets the manager's watch-filter
      // label.
      await world.patch('shares-green', { metadata: { labels: { [FILTER]: 'blue' } } });
      await world.ready('shares-green');
      await world.delete('shares-green');
      await world.gone('shares-green');
      expect(world.awsView.role('filtered-pods')).to.equal(undefined);
      await eventually(async () => {
        expect((await world.controlPlane.api.get(controlPlanePath('filtered'))).metadata.finalizers).to.equal(
          undefined,
        );
      });
    });

    it('exits with 2 for an invalid label value', async () => {
      const flags = ['--watch-filter', 'a,b'];
      const manager = await startManager(world.controlPlane, { awsUrl: world.awsUrl, flags, waitUntilReady: false });
      expect((await manager.exited).code).to.equal(2);
      expect(manager.log()).to.contain('--watch-filter: "a,b" is not the value of a label');
    });
  });
});
