import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { waitForCacheSync } from '../../world/cache-sync.ts';
import { CONTROL_PLANE_FINALIZER, finalizersOf, removeFinalizers } from '../../world/cluster-api/cluster-teardown.ts';
import { messageOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { clusterPath, controlPlanePath, fargateProfile, startWorld } from '../../world/world.ts';

const HELD = 'test.example/held';
const DELETE_FOR_MOVE = 'clusterctl.cluster.x-k8s.io/delete-for-move';
const KUBEADM = { apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'KubeadmControlPlane', name: 'kubeadm' };

describe('the teardown of a Cluster with a control plane of another kind', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
  });
  after(() => world.finish());

  it('begins with the deletion of the Cluster, and removes the finalizer from the former control plane', async () => {
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web'), fargateProfile('kept', { deletionPolicy: 'Retain' }));
    await Promise.all([world.ready('web'), world.ready('kept')]);
    expect(await finalizersOf(world, controlPlanePath('prod'))).to.deep.equal([CONTROL_PLANE_FINALIZER]);

    await world.controlPlane.api.patch(clusterPath('prod'), { spec: { controlPlaneRef: KUBEADM } });
    for (const name of ['web', 'kept']) {
      const stalled = await world.condition(name, 'Stalled', { status: 'True', reason: 'ControlPlaneUnsupported' });
      expect(messageOf(stalled, 'Stalled')).to.contain('of kind KubeadmControlPlane');
    }
    const calls = callsFromNow(world.aws);
    // The Cluster now refers to a control plane of another kind. So the deletion of its former AWSManagedControlPlane
    // must not make the controller delete the AWSFargateProfiles.
    await world.controlPlane.api.patch(controlPlanePath('prod'), {
      metadata: { finalizers: [CONTROL_PLANE_FINALIZER, HELD] },
    });
    await world.controlPlane.api.delete(controlPlanePath('prod'));
    await world.controlPlane.api.patch(clusterPath('prod'), { metadata: { finalizers: [HELD] } });
    await world.apply(fargateProfile('newcomer'));
    await world.condition('newcomer', 'Stalled', { status: 'True', reason: 'ControlPlaneUnsupported' });
    await waitForCacheSync(world);
    expect(calls.mutations()).to.deep.equal([]);
    for (const name of ['web', 'kept'])
      expect((await world.profile(name))?.metadata.deletionTimestamp, name).to.equal(undefined);

    await world.controlPlane.api.delete(clusterPath('prod'));
    await world.gone('web');
    await world.event(
      'web',
      'Normal DeletedWithCluster: The controller deletes this AWSFargateProfile, because Cluster default/prod is being deleted',
    );
    expect(world.awsView.profile('default_web')).to.equal(undefined);
    expect(world.awsView.role('prod-default_web_fargate')).to.equal(undefined);

    // While the Cluster is being deleted, the Fargate profile of `kept` still exists, and so does this controller's
    // finalizer on the control plane. The AWSFargateProfile `newcomer` has nothing in AWS, so the controller has set no
    // finalizer on it.
    expect((await world.profile('kept'))?.metadata.deletionTimestamp).to.equal(undefined);
    expect(world.awsView.profile('default_kept')?.status).to.equal('ACTIVE');
    expect((await world.profile('newcomer'))?.metadata.finalizers).to.equal(undefined);
    expect(await finalizersOf(world, controlPlanePath('prod'))).to.include(CONTROL_PLANE_FINALIZER);

    await world.patch('kept', { spec: { deletionPolicy: 'Delete' } });
    await world.gone('kept');
    expect(world.awsView.profile('default_kept')).to.equal(undefined);
    await eventually(
      async () => !(await finalizersOf(world, controlPlanePath('prod'))).includes(CONTROL_PLANE_FINALIZER),
      {
        what: 'the removal of the control plane finalizer',
      },
    );
    expect(await world.controlPlane.api.exists(clusterPath('prod')), 'the Cluster').to.equal(true);
    for (const path of [controlPlanePath('prod'), clusterPath('prod')]) await removeFinalizers(world, path, HELD);
  });

  it('does not begin while clusterctl moves the Cluster', async () => {
    await world.createEksCluster('moving');
    await world.apply(fargateProfile('passenger', { clusterName: 'moving' }));
    await world.ready('passenger');
    await world.controlPlane.api.patch(clusterPath('moving'), {
      metadata: { finalizers: [HELD], annotations: { [DELETE_FOR_MOVE]: '' } },
      spec: { controlPlaneRef: KUBEADM },
    });
    await world.controlPlane.api.delete(clusterPath('moving'));
    await world.condition('passenger', 'Stalled', { status: 'True', reason: 'ControlPlaneUnsupported' });
    await waitForCacheSync(world);
    expect((await world.profile('passenger'))?.metadata.deletionTimestamp).to.equal(undefined);
    expect(world.awsView.profile('default_passenger')?.status).to.equal('ACTIVE');

    // The test removes the annotation with which clusterctl marks a Cluster that it moves. Then the controller treats
    // the deletion of the Cluster as a real one.
    await world.controlPlane.api.patch(clusterPath('moving'), {
      metadata: { annotations: { [DELETE_FOR_MOVE]: null } },
    });
    await world.gone('passenger');
    expect(world.awsView.profile('default_passenger')).to.equal(undefined);
    await removeFinalizers(world, clusterPath('moving'), HELD);
  });
});
