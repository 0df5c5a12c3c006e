import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { MANAGER_ACCOUNT } from '../../envtest/control-plane/pool.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { waitForCacheSync } from '../../world/cache-sync.ts';
import { CONTROL_PLANE_FINALIZER, finalizersOf } from '../../world/cluster-api/cluster-teardown.ts';
import {
  CAPA_WEBHOOKS,
  createOrphanedCapaWebhooks,
  createUnreachableWebhook,
} from '../../world/cluster-api/unreachable-webhooks.ts';
import { messageOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { clusterPath, controlPlanePath, fargateProfile, pathOf, startWorld } from '../../world/world.ts';

const GROUP = 'infrastructure.cluster.x-k8s.io';
const RESOURCES = ['awsfargateprofiles', 'awsfargateprofiles/status'];

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

  it('of every status write is reported in an event and in the log', async () => {
    const repair = await createUnreachableWebhook(world, {
      name: 'policy.example.com',
      group: GROUP,
      resources: RESOURCES,
      probe,
    });
    await world.apply(fargateProfile('speechless'));
    const events = await world.event('speechless', 'Warning APIServerRefused');
    expect(events.join('\n'))
      .to.contain('failed calling webhook "policy.example.com"')
      .and.to.contain(
        'Restore the service of the webhook "policy.example.com", or remove the webhook from its webhook configuration',
      );
    expect(world.manager.log()).to.match(/"The API server rejects a request of this pass".*"default\/speechless"/);
    expect((await world.profile('speechless'))?.status).to.deep.equal({ observedGeneration: -1 });
    await repair();
    await world.ready('speechless');
  });

  it('of the control plane finalizer delays creations, not deletions, and is reported in an event of the control plane', async () => {
    for (const name of ['guarded', 'unguarded']) await world.createEksCluster(name);
    await world.apply(fargateProfile('staying', { clusterName: 'guarded' }));
    await world.ready('staying');
    const repair = await createUnreachableWebhook(world, {
      name: 'validation.capa.example.com',
      group: 'controlplane.cluster.x-k8s.io',
      resources: ['awsmanagedcontrolplanes'],
      probe: controlPlanePath('unguarded'),
    });

    await world.apply(fargateProfile('arriving', { clusterName: 'unguarded' }));
    const arriving = await world.condition('arriving', 'Ready', { status: 'False', reason: 'GuardRefused' });
    expect(messageOf(arriving, 'Ready')).to.contain('Restore the service of the webhook "validation.capa.example.com"');
    expect(world.awsView.role('unguarded-default_arriving_fargate')).to.equal(undefined);

    await world.delete('staying');
    await world.gone('staying');
    expect(world.awsView.profile('default_staying')).to.equal(undefined);
    await world.event('guarded-control-plane', 'Restore the service of the webhook "validation.capa.example.com"');
    expect(await finalizersOf(world, controlPlanePath('guarded'))).to.deep.equal([CONTROL_PLANE_FINALIZER]);

    await repair();
    await world.ready('arriving');
    await eventually(async () => (await finalizersOf(world, controlPlanePath('guarded'))).length === 0, {
      what: 'the removal of the control plane finalizer',
    });
  });
});

const CLUSTER_ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/capaf-system-manager';

interface ClusterRole extends RawObject {
  readonly rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}

describe('a missing permission of the manager', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager({ mayBeForbidden: true });
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web'), fargateProfile('kept'));
    await Promise.all([world.ready('web'), world.ready('kept')]);
  });
  after(() => world.finish());

  /** Removes a verb for a resource from the ClusterRole of the manager. Returns a function that adds the verb again. */
  async function revoke(verb: string, resource: string): Promise<() => Promise<void>> {
    const { api } = world.controlPlane;
    const { rules } = await api.get<ClusterRole>(CLUSTER_ROLE);
    const without = rules.map((rule) =>
      rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((each) => each !== verb) } : rule,
    );
    const isAllowed = async (): Promise<boolean> => {
      const { stdout } = await world.kubectl(['auth', 'can-i', verb, resource, `--as=${MANAGER_ACCOUNT}`]);
      return stdout.trim() === 'yes';
    };
    await api.patch(CLUSTER_ROLE, { rules: without });
    await eventually(async () => !(await isAllowed()), { what: `${verb} ${resource} being taken away` });
    return async () => {
      await api.patch(CLUSTER_ROLE, { rules });
    };
  }

  it('to list AWSFargateProfiles keeps a role that another object may use, and the condition names the permission', async () => {
    const restore = await revoke('list', 'awsfargateprofiles');
    await world.delete('web');
    const object = await world.condition('web', 'Deleting', { status: 'True', reason: 'APIServerRefused' });
    expect(messageOf(object, 'Deleting'))
      .to.contain(`User "${MANAGER_ACCOUNT}" cannot list resource "awsfargateprofiles"`)
      .and.to.contain('Apply the roles and role bindings of the manager again (config/rbac)');
    expect(world.awsView.profile('default_web')).to.equal(undefined);
    expect(world.awsView.role('prod-default_web_fargate')?.attachedPolicies).to.have.length(1);
    await restore();
    await world.gone('web');
    expect(world.awsView.role('prod-default_web_fargate')).to.equal(undefined);
  });

  it('to patch AWSFargateProfiles is reported by an object that stays Ready', async () => {
    const restore = await revoke('patch', 'awsfargateprofiles');
    await world.patch('kept', { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': null } } });
    const object = await world.condition('kept', 'Reconciling', { status: 'True', reason: 'APIServerRefused' });
    expect(messageOf(object, 'Reconciling')).to.contain(
      `User "${MANAGER_ACCOUNT}" cannot patch resource "awsfargateprofiles"`,
    );
    expect(object.status?.conditions?.find(({ type }) => type === 'Ready')?.status).to.equal('True');
    await restore();
    const repaired = await world.condition('kept', 'Reconciling', { status: 'False' });
    expect(repaired.metadata.labels?.['cluster.x-k8s.io/cluster-name']).to.equal('prod');
  });

  it('to delete AWSFargateProfiles delays the teardown, and an event names the permission', async () => {
    const restore = await revoke('delete', 'awsfargateprofiles');
    await world.controlPlane.api.delete(controlPlanePath('prod'));
    await world.event('kept', `User "${MANAGER_ACCOUNT}" cannot delete resource "awsfargateprofiles"`);
    expect((await world.profile('kept'))?.metadata.deletionTimestamp).to.equal(undefined);
    await restore();
    await world.gone('kept');
    await eventually(async () => !(await world.controlPlane.api.exists(controlPlanePath('prod'))), {
      what: 'the deletion of the control plane',
    });
  });
});
