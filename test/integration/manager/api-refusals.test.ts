import { expect } from 'chai';
import { callsFromNow } from '../../world/aws/calls.ts';
import { waitForCacheSync } from '../../world/cache-sync.ts';
import { CAPA_WEBHOOKS, createOrphanedCapaWebhooks } from '../../world/cluster-api/unreachable-webhooks.ts';
import { messageOf } from '../../world/object-state.ts';
import { type World, clusterPath, fargateProfile, pathOf, startWorld } from '../../world/world.ts';

describe('a refusal by the API server', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
    await Promise.all([world.createEksCluster('prod'), world.createEksCluster('other')]);
    // The tests write to this paused AWSFargateProfile to find out whether the API server refuses writes. The manager
    // does not write to it.
    await world.apply(fargateProfile('probe', {}, { annotations: { 'cluster.x-k8s.io/paused': '' } }));
    await world.condition('probe', 'Paused', { status: 'True' });
  });
  after(async () => {
    await world.patch('probe', { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
    // The AWSFargateProfile becomes Ready before its deletion. Otherwise EKS could still be creating its Fargate
    // profile, and the deletion would have to wait for EKS.
    await world.ready('probe');
    await world.finish();
  });
  const probe = pathOf('probe', 'default');

  it('of every write of AWSFargateProfiles, by webhooks of a removed Cluster API Provider AWS, is reported with the webhook until it ends', async () => {
    await world.apply(fargateProfile('leaving'));
    await world.ready('leaving');
    await world.controlPlane.api.patch(clusterPath('other'), { spec: { paused: true } });
    await waitForCacheSync(world);
    await world.apply(fargateProfile('held-up', { clusterName: 'other' }));
    await world.condition('held-up', 'Paused', { status: 'True' });
    const calls = callsFromNow(world.aws);
    const removeEntries = await createOrphanedCapaWebhooks(world, probe);

    const created = await world.apply(fargateProfile('refused')).catch((error: unknown) => String(error));
    expect(created, 'the error of kubectl apply').to.contain(`failed calling webhook "${CAPA_WEBHOOKS.mutating}"`);

    await world.controlPlane.api.patch(clusterPath('other'), { spec: { paused: false } });
    const held = await world.condition('held-up', 'Ready', { status: 'False', reason: 'APIServerRefused' });
    const message = messageOf(held, 'Ready');
    expect(message)
      .to.match(
        /^The API server does not carry out a request of the controller: patching awsfargateprofiles\S* default\/held-up: /,
      )
      .and.to.contain(`failed calling webhook "${CAPA_WEBHOOKS.mutating}"`)
      .and.to.contain(`remove the webhooks ${CAPA_WEBHOOKS.mutating} and ${CAPA_WEBHOOKS.validating} from its webhook`);
    expect(messageOf(held, 'Reconciling')).to.equal(message);
    expect(held.metadata.finalizers, 'its finalizer').to.equal(undefined);
    const events = await world.event('held-up', 'Warning APIServerRefused');
    expect(events).to.include(`Warning APIServerRefused: ${message}`);

    await world.delete('leaving');
    const leaving = await world.condition('leaving', 'Deleting', { status: 'True', reason: 'APIServerRefused' });
    expect(messageOf(leaving, 'Deleting')).to.contain(`remove the webhooks ${CAPA_WEBHOOKS.mutating}`);
    expect(calls.mutations(), 'in AWS').to.deep.equal([]);

    await removeEntries();
    await Promise.all([world.ready('held-up'), world.gone('leaving')]);
    expect(world.awsView.profile('default_leaving')).to.equal(undefined);
  });
});
