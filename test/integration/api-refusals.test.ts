import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { KubeObject } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import { caughtUp } from '../world/caught-up.ts';
import { GUARD, finalizersOf } from '../world/cluster-teardown.ts';
import { CAPA_WEBHOOKS, capaWebhooksLeftBehind, deadWebhook } from '../world/dead-webhooks.ts';
import { messageOf } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { clusterPath, controlPlanePath, fargateProfile, pathOf, startWorld } from '../world/world.ts';

const GROUP = 'infrastructure.cluster.x-k8s.io';
const ALL_OF_IT = ['awsfargateprofiles', 'awsfargateprofiles/status'];

describe('what the API server refuses to the manager', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
    await Promise.all([world.createEksCluster('prod'), world.createEksCluster('other')]);
    // Nothing but a thing to try a refusal on.
    await world.apply(fargateProfile('probe', {}, { annotations: { 'cluster.x-k8s.io/paused': '' } }));
    await world.condition('probe', 'Paused', { status: 'True' });
  });
  after(async () => {
    await world.patch('probe', { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
    // Deleted in the midst of its create it would be waited for, a minute long.
    await world.ready('probe');
    await world.finish();
  });
  const probe = pathOf('probe', 'default');

  it('every write of its objects, by webhooks that Cluster API Provider AWS has left behind: they say which, and go on without them', async () => {
    await world.apply(fargateProfile('leaving'));
    await world.ready('leaving');
    await world.controlPlane.api.patch(clusterPath('other'), { spec: { paused: true } });
    await caughtUp(world);
    await world.apply(fargateProfile('held-up', { clusterName: 'other' }));
    await world.condition('held-up', 'Paused', { status: 'True' });
    const calls = callsFromNow(world.aws);
    const removeEntries = await capaWebhooksLeftBehind(world, probe);

    const created = await world.apply(fargateProfile('refused')).catch((error: unknown) => String(error));
    expect(created, 'what an applicant reads').to.contain(`failed calling webhook "${CAPA_WEBHOOKS.mutating}"`);

    await world.controlPlane.api.patch(clusterPath('other'), { spec: { paused: false } });
    const held = await world.condition('held-up', 'Ready', { status: 'False', reason: 'APIServerRefused' });
    const message = messageOf(held, 'Ready');
    expect(message)
      .to.match(/^The API server refuses what the manager needs: patching awsfargateprofiles\S* default\/held-up: /)
      .and.to.contain(`failed calling webhook "${CAPA_WEBHOOKS.mutating}"`)
      .and.to.contain(`Remove the entries ${CAPA_WEBHOOKS.mutating} and ${CAPA_WEBHOOKS.validating} from the webhook`);
    expect(messageOf(held, 'Reconciling')).to.equal(message);
    expect(held.metadata.finalizers, 'its finalizer').to.equal(undefined);
    const events = await world.event('held-up', 'Warning APIServerRefused');
    expect(events).to.include(`Warning APIServerRefused: ${message}`);

    await world.delete('leaving');
    const leaving = await world.condition('leaving', 'Deleting', { status: 'True', reason: 'APIServerRefused' });
    expect(messageOf(leaving, 'Deleting')).to.contain(`Remove the entries ${CAPA_WEBHOOKS.mutating}`);
    expect(calls.mutations(), 'in AWS').to.deep.equal([]);

    await removeEntries();
    await Promise.all([world.ready('held-up'), world.gone('leaving')]);
    expect(world.inAws.profile('default_leaving')).to.equal(undefined);
  });

  it('even a word on the object: an event says it, and the log', async () => {
    const mend = await deadWebhook(world, { name: 'policy.example.com', group: GROUP, resources: ALL_OF_IT, probe });
    await world.apply(fargateProfile('speechless'));
    const events = await world.event('speechless', 'Warning APIServerRefused');
    expect(events.join('\n'))
      .to.contain('failed calling webhook "policy.example.com"')
      .and.to.contain(
        'Bring the service of the webhook "policy.example.com" back, or remove its entry from the webhook',
      );
    expect(world.manager.log()).to.match(/"The API server refuses what a pass needs".*"default\/speechless"/);
    expect((await world.profile('speechless'))?.status).to.deep.equal({ observedGeneration: -1 });
    await mend();
    await world.ready('speechless');
  });

  it('the finalizer on control planes: creation waits and says so, deletion does not, and the control plane says why it is kept', async () => {
    for (const name of ['guarded', 'unguarded']) await world.createEksCluster(name);
    await world.apply(fargateProfile('staying', { clusterName: 'guarded' }));
    await world.ready('staying');
    const mend = await deadWebhook(world, {
      name: 'validation.capa.example.com',
      group: 'controlplane.cluster.x-k8s.io',
      resources: ['awsmanagedcontrolplanes'],
      probe: controlPlanePath('unguarded'),
    });

    await world.apply(fargateProfile('arriving', { clusterName: 'unguarded' }));
    const arriving = await world.condition('arriving', 'Ready', { status: 'False', reason: 'GuardRefused' });
    expect(messageOf(arriving, 'Ready')).to.contain(
      'Bring the service of the webhook "validation.capa.example.com" back',
    );
    expect(world.inAws.role('unguarded-default_arriving_fargate')).to.equal(undefined);

    await world.delete('staying');
    await world.gone('staying');
    expect(world.inAws.profile('default_staying')).to.equal(undefined);
    await world.event('guarded-control-plane', 'Bring the service of the webhook "validation.capa.example.com" back');
    expect(await finalizersOf(world, controlPlanePath('guarded'))).to.deep.equal([GUARD]);

    await mend();
    await world.ready('arriving');
    await eventually(async () => (await finalizersOf(world, controlPlanePath('guarded'))).length === 0, {
      what: 'the end of the guard',
      timeoutMs: 30_000,
    });
  });
});

const MANAGER = 'system:serviceaccount:capaf-system:capaf-manager';
const RBAC = fileURLToPath(new URL('../../config/rbac', import.meta.url));
const CLUSTER_ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/capaf-manager';

interface ClusterRole extends KubeObject {
  readonly rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}

describe('a permission that the manager has lost', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ users: [{ name: MANAGER, groups: ['system:serviceaccounts:capaf-system'] }] });
    const applied = await world.kubectl(['apply', '-k', RBAC]);
    expect(applied.code, applied.stderr).to.equal(0);
    await world.startManager({ kubeconfigPath: world.controlPlane.user(MANAGER).kubeconfigPath });
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web'), fargateProfile('kept'));
    await Promise.all([world.ready('web'), world.ready('kept')]);
  });
  after(() => world.finish());

  /** Takes a verb from the manager's role. What it returns gives it back. */
  async function takeAway(verb: string, resource: string): Promise<() => Promise<void>> {
    const { api } = world.controlPlane;
    const { rules } = await api.get<ClusterRole>(CLUSTER_ROLE);
    const without = rules.map((rule) =>
      rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((each) => each !== verb) } : rule,
    );
    const mayIt = async (): Promise<boolean> => {
      const { stdout } = await world.kubectl(['auth', 'can-i', verb, resource, `--as=${MANAGER}`]);
      return stdout.trim() === 'yes';
    };
    await api.patch(CLUSTER_ROLE, { rules: without });
    await eventually(async () => !(await mayIt()), { what: `${verb} ${resource} being taken away` });
    return async () => {
      await api.patch(CLUSTER_ROLE, { rules });
    };
  }

  it('to list profiles: no role is deleted that another may use, and the object says why', async () => {
    const giveBack = await takeAway('list', 'awsfargateprofiles');
    await world.delete('web');
    const object = await world.condition('web', 'Deleting', { status: 'True', reason: 'APIServerRefused' });
    expect(messageOf(object, 'Deleting'))
      .to.contain(`User "${MANAGER}" cannot list resource "awsfargateprofiles"`)
      .and.to.contain("Apply the manager's roles and role bindings again (config/rbac)");
    expect(world.inAws.profile('default_web')).to.equal(undefined);
    expect(world.inAws.role('prod-default_web_fargate')?.attachedPolicies).to.have.length(1);
    await giveBack();
    await world.gone('web');
    expect(world.inAws.role('prod-default_web_fargate')).to.equal(undefined);
  });

  it('to write profiles: one that is Ready stays so and says what it cannot do', async () => {
    const giveBack = await takeAway('patch', 'awsfargateprofiles');
    await world.patch('kept', { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': null } } });
    const object = await world.condition('kept', 'Reconciling', { status: 'True', reason: 'APIServerRefused' });
    expect(messageOf(object, 'Reconciling')).to.contain(`User "${MANAGER}" cannot patch resource "awsfargateprofiles"`);
    expect(object.status?.conditions?.find(({ type }) => type === 'Ready')?.status).to.equal('True');
    await giveBack();
    const mended = await world.condition('kept', 'Reconciling', { status: 'False' });
    expect(mended.metadata.labels?.['cluster.x-k8s.io/cluster-name']).to.equal('prod');
  });

  it('to delete profiles: in a teardown each says so, and goes as soon as it may', async () => {
    const giveBack = await takeAway('delete', 'awsfargateprofiles');
    await world.controlPlane.api.delete(controlPlanePath('prod'));
    await world.event('kept', `User "${MANAGER}" cannot delete resource "awsfargateprofiles"`);
    expect((await world.profile('kept'))?.metadata.deletionTimestamp).to.equal(undefined);
    await giveBack();
    await world.gone('kept');
    await eventually(async () => !(await world.controlPlane.api.exists(controlPlanePath('prod'))), {
      what: 'the end of the control plane',
    });
  });
});
