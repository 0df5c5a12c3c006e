import { expect } from 'chai';
import { callsFromNow } from '../../world/aws/calls.ts';
import { messageOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { clusterObject, clusterPath, controlPlanePath, fargateProfile, pathOf, startWorld } from '../../world/world.ts';

const eksName = (cluster: string): string => `default_${cluster}-control-plane`;

describe('the target of a deletion', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
  });
  after(() => world.finish());

  it('does not need a ready control plane', async () => {
    await world.createEksCluster('upgrading');
    await world.apply(fargateProfile('during', { clusterName: 'upgrading' }));
    await world.ready('during');
    await world.setControlPlaneReady('upgrading', false);
    await world.delete('during');
    await world.gone('during');
    expect(world.awsView.profile('default_during')).to.equal(undefined);
  });

  it('is the EKS cluster where the profile was provisioned, also when the control plane names another one', async () => {
    await Promise.all([world.createEksCluster('former'), world.createEksCluster('latter')]);
    await world.apply(fargateProfile('left-behind', { clusterName: 'former' }));
    await world.ready('left-behind');
    const calls = callsFromNow(world.aws);
    await world.controlPlane.api.patch(controlPlanePath('former'), { spec: { eksClusterName: eksName('latter') } });
    const stalled = await world.condition('left-behind', 'Stalled', { status: 'True', reason: 'TargetChanged' });
    expect(messageOf(stalled, 'Stalled'))
      .to.contain(`spec.eksClusterName of the control plane is now "${eksName('latter')}"`)
      .and.to.contain(`this object records "${eksName('former')}" for its Fargate profile`);
    expect(calls.mutations()).to.deep.equal([]);

    await world.delete('left-behind');
    await world.gone('left-behind');
    expect(world.awsView.profile('default_left-behind')).to.equal(undefined);
    expect(world.awsView.role('former-default_left-behind_fargate')).to.equal(undefined);
    expect(calls.about(eksName('latter'))).to.deep.equal([]);
  });

  it('is unknown without status and Cluster: the object reports that until the Cluster is restored or Retain is set', async () => {
    await world.createEksCluster('lost');
    const names = ['restored', 'abandoned'];
    await world.apply(...names.map((name) => fargateProfile(name, { clusterName: 'lost' })));
    await Promise.all(names.map((name) => world.ready(name)));
    // The test creates the state after the restore of a backup that contains neither the status of the objects nor the
    // Cluster.
    await world.stopManager();
    const { api } = world.controlPlane;
    const { spec } = await api.get(controlPlanePath('lost'));
    for (const path of [controlPlanePath('lost'), clusterPath('lost')]) {
      await api.patch(path, { metadata: { finalizers: null } });
      await api.delete(path);
    }
    for (const name of names) {
      await api.patch(`${pathOf(name, 'default')}/status`, [{ op: 'remove', path: '/status' }], 'json');
      await world.delete(name);
    }
    const calls = callsFromNow(world.aws);
    await world.startManager();
    for (const name of names) {
      const stalled = await world.condition(name, 'Deleting', { status: 'True', reason: 'TargetUnknown' });
      expect(messageOf(stalled, 'Deleting'))
        .to.contain(
          `records 123456789012/us-east-1/${eksName('lost')} (account/region/EKS cluster) as the place of its`,
        )
        .and.to.contain('Restore Cluster default/lost and its AWSManagedControlPlane');
    }
    expect(calls.all()).to.deep.equal([]);

    await world.patch('abandoned', { spec: { deletionPolicy: 'Retain' } });
    await world.gone('abandoned');
    expect(calls.all()).to.deep.equal([]);
    expect(world.awsView.profile('default_abandoned')?.status).to.equal('ACTIVE');

    await world.apply(clusterObject('lost'), {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      kind: 'AWSManagedControlPlane',
      metadata: { name: 'lost-control-plane', namespace: 'default' },
      spec,
    });
    await world.setControlPlaneReady('lost', true);
    await world.gone('restored');
    expect(world.awsView.profile('default_restored')).to.equal(undefined);
    expect(world.awsView.role('lost-default_restored_fargate')).to.equal(undefined);

    const { admin } = world.aws;
    admin.removeProfile({ cluster: eksName('lost'), name: 'default_abandoned' });
    admin.removeRole({ name: 'lost-default_abandoned_fargate' });
  });
});
