import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import { caughtUp } from '../world/caught-up.ts';
import { GUARD, finalizersOf, strip } from '../world/cluster-teardown.ts';
import { messageOf } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { clusterPath, controlPlanePath, fargateProfile, startWorld } from '../world/world.ts';

const HELD = 'test.example/held';
const DELETE_FOR_MOVE = 'clusterctl.cluster.x-k8s.io/delete-for-move';
const KUBEADM = { apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'KubeadmControlPlane', name: 'kubeadm' };

describe('the teardown of a Cluster whose control plane is of another kind', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
  });
  after(() => world.finish());

  it('begins with the Cluster: what was provisioned before goes, and the former control plane is let go', async () => {
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web'), fargateProfile('kept', { deletionPolicy: 'Retain' }));
    await Promise.all([world.ready('web'), world.ready('kept')]);
    expect(await finalizersOf(world, controlPlanePath('prod'))).to.deep.equal([GUARD]);

    await world.controlPlane.api.patch(clusterPath('prod'), { spec: { controlPlaneRef: KUBEADM } });
    for (const name of ['web', 'kept']) {
      const stalled = await world.condition(name, 'Stalled', { status: 'True', reason: 'ControlPlaneUnsupported' });
      expect(messageOf(stalled, 'Stalled')).to.contain('of kind KubeadmControlPlane');
    }
    const calls = callsFromNow(world.aws);
    // The control plane that it had tells nothing any more.
    await world.controlPlane.api.patch(controlPlanePath('prod'), { metadata: { finalizers: [GUARD, HELD] } });
    await world.controlPlane.api.delete(controlPlanePath('prod'));
    await world.controlPlane.api.patch(clusterPath('prod'), { metadata: { finalizers: [HELD] } });
    await world.apply(fargateProfile('newcomer'));
    await world.condition('newcomer', 'Stalled', { status: 'True', reason: 'ControlPlaneUnsupported' });
    await caughtUp(world);
    expect(calls.mutations()).to.deep.equal([]);
    for (const name of ['web', 'kept'])
      expect((await world.profile(name))?.metadata.deletionTimestamp, name).to.equal(undefined);

    await world.controlPlane.api.delete(clusterPath('prod'));
    await world.gone('web');
    await world.event(
      'web',
      'Normal DeletedWithCluster: Cluster default/prod is being deleted: the profile goes before its cluster',
    );
    expect(world.inAws.profile('default_web')).to.equal(undefined);
    expect(world.inAws.role('prod-default_web_fargate')).to.equal(undefined);

    // One that is to be retained stays, and so does the guard; one that never had anything in AWS is nobody's business.
    expect((await world.profile('kept'))?.metadata.deletionTimestamp).to.equal(undefined);
    expect(world.inAws.profile('default_kept')?.status).to.equal('ACTIVE');
    expect((await world.profile('newcomer'))?.metadata.finalizers).to.equal(undefined);
    expect(await finalizersOf(world, controlPlanePath('prod'))).to.include(GUARD);

    await world.patch('kept', { spec: { deletionPolicy: 'Delete' } });
    await world.gone('kept');
    expect(world.inAws.profile('default_kept')).to.equal(undefined);
    await eventually(async () => !(await finalizersOf(world, controlPlanePath('prod'))).includes(GUARD), {
      what: 'the end of the guard',
    });
    expect(await world.controlPlane.api.exists(clusterPath('prod')), 'the Cluster').to.equal(true);
    for (const path of [controlPlanePath('prod'), clusterPath('prod')]) await strip(world, path, HELD);
  });

  it('does not begin while clusterctl takes the Cluster away to another management cluster', async () => {
    await world.createEksCluster('moving');
    await world.apply(fargateProfile('passenger', { clusterName: 'moving' }));
    await world.ready('passenger');
    await world.controlPlane.api.patch(clusterPath('moving'), {
      metadata: { finalizers: [HELD], annotations: { [DELETE_FOR_MOVE]: '' } },
      spec: { controlPlaneRef: KUBEADM },
    });
    await world.controlPlane.api.delete(clusterPath('moving'));
    await world.condition('passenger', 'Stalled', { status: 'True', reason: 'ControlPlaneUnsupported' });
    await caughtUp(world);
    expect((await world.profile('passenger'))?.metadata.deletionTimestamp).to.equal(undefined);
    expect(world.inAws.profile('default_passenger')?.status).to.equal('ACTIVE');

    // Somebody gives the move up, and the Cluster is to go for good.
    await world.controlPlane.api.patch(clusterPath('moving'), {
      metadata: { annotations: { [DELETE_FOR_MOVE]: null } },
    });
    await world.gone('passenger');
    expect(world.inAws.profile('default_passenger')).to.equal(undefined);
    await strip(world, clusterPath('moving'), HELD);
  });
});
