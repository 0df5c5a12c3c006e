import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { KubeObject } from '../envtest/api.ts';
import { applyCrds } from '../envtest/crds.ts';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import { expectDescribed } from '../world/describe.ts';
import { messageOf, standing } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, OUR_CRD, controlPlanePath, fargateProfile, startWorld } from '../world/world.ts';
import { CAPA_CRD } from './profiles.ts';

const MESSAGE =
  'The API server serves AWSFargateProfiles with the CRD of infrastructure-aws, which does not know spec.deletionPolicy, spec.adoptionPolicy, spec.roleARN and 8 more: what is read here is not what was written, so nothing is changed in AWS. Apply the CRD of cluster-api-provider-aws-fargate again (kubectl apply --server-side --force-conflicts -k config/crd), and then your AWSFargateProfiles, from which the other one drops fields; it goes on by itself.';
const MANAGER = 'system:serviceaccount:capaf-system:capaf-manager';
const RBAC = fileURLToPath(new URL('../../config/rbac', import.meta.url));
const CLUSTER_ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/capaf-manager';
const ROLE_ARN = `arn:aws:iam::${ACCOUNT}:role/platform`;
/** It is looked for every 15 s whether our schema is back. */
const BACK = { timeoutMs: 40_000 };

describe('a CRD like that of Cluster API Provider AWS, applied over ours', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager({ flags: ['--sync-period', '1s'] });
    await world.createEksCluster('prod');
    await world.createEksCluster('ending');
    world.aws.admin.putRole({
      name: 'platform',
      trustPolicy: JSON.stringify({
        Version: '2012-10-17',
        Statement: [
          { Effect: 'Allow', Principal: { Service: 'eks-fargate-pods.amazonaws.com' }, Action: 'sts:AssumeRole' },
        ],
      }),
    });
    await world.apply(
      fargateProfile('plain'),
      fargateProfile('kept', { deletionPolicy: 'Retain' }),
      fargateProfile('living', { deletionPolicy: 'Retain', roleARN: ROLE_ARN }),
      fargateProfile('ending', { clusterName: 'ending' }),
    );
    await Promise.all(['plain', 'kept', 'living', 'ending'].map((name) => world.ready(name)));
  });
  after(() => world.finish());

  const object = async (name: string): Promise<KubeObject> => {
    const found = await world.profile(name);
    if (found === undefined) throw new Error(`${name} is gone`);
    return found;
  };
  /** The API server goes over to another schema a moment after it has taken it. */
  const served = (ours: boolean): Promise<boolean> =>
    eventually(async () => ((await object('living')).spec?.['roleARN'] !== undefined) === ours);

  it('changes nothing in AWS while it is served: not for deleted objects, nor for those of a cluster that is torn down', async () => {
    const before = await object('living');
    const calls = callsFromNow(world.aws);
    await applyCrds(world.controlPlane.api, CAPA_CRD);
    await served(false);
    await eventually(async () => (await world.manager.metric('capaf_foreign_schema')) === 1, { timeoutMs: 15_000 });
    await Promise.all([world.delete('plain'), world.delete('kept')]);
    await world.controlPlane.api.delete(controlPlanePath('ending'));

    for (const name of ['plain', 'kept']) {
      const held = await world.condition(name, 'Deleting', { status: 'True', reason: 'ForeignSchema' });
      expect(standing(held)).to.deep.equal({
        Ready: 'False Deleting',
        Reconciling: 'False',
        Stalled: 'True ForeignSchema',
      });
      expect(messageOf(held, 'Stalled')).to.equal(MESSAGE);
      await world.event(name, `Warning ForeignSchema: ${MESSAGE}`);
    }
    await expectDescribed(world, 'foreign-schema', 'kept');
    await world.event('living', 'Warning ForeignSchema: The API server serves');
    expect(world.manager.log()).to.contain(
      '"AWSFargateProfiles are served with a foreign schema: nothing is changed in AWS"',
    );
    expect((await object('ending')).metadata.deletionTimestamp).to.equal(undefined);
    expect(calls.mutations()).to.deep.equal([]);
    // A write, whatever it was about, would have lost what the schema does not know.
    expect((await object('living')).metadata.resourceVersion).to.equal(before.metadata.resourceVersion);
  });

  it('goes on when ours is back: what was to be retained is retained, the others go, and who lived has lost nothing', async () => {
    const calls = callsFromNow(world.aws);
    await applyCrds(world.controlPlane.api, OUR_CRD);
    await served(true);
    await world.gone('plain', BACK);
    await world.gone('kept', BACK);
    await world.gone('ending', BACK);
    expect(world.inAws.profile('default_plain')).to.equal(undefined);
    expect(world.inAws.role('prod-default_plain_fargate')).to.equal(undefined);
    expect(world.inAws.profile('default_ending')).to.equal(undefined);
    expect(world.inAws.profile('default_kept')?.status).to.equal('ACTIVE');
    expect(world.inAws.role('prod-default_kept_fargate')?.attachedPolicies).to.have.length(1);
    expect(calls.about('default_kept').filter(({ mutates }) => mutates)).to.deep.equal([]);

    const living = await world.ready('living');
    expect(living.spec).to.deep.include({ deletionPolicy: 'Retain', roleARN: ROLE_ARN });
    expect(calls.about('default_living').filter(({ mutates }) => mutates)).to.deep.equal([]);
    expect(await world.manager.metric('capaf_foreign_schema')).to.equal(0);
    expect(world.manager.log()).to.contain('"AWSFargateProfiles are served with our schema again"');

    await world.patch('living', { spec: { deletionPolicy: 'Delete' } });
    world.aws.admin.removeProfile({ cluster: 'default_prod-control-plane', name: 'default_kept' });
    world.aws.admin.removeRole({ name: 'prod-default_kept_fargate' });
  });
});

describe('the CRD, where the manager may not read it', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ users: [{ name: MANAGER, groups: ['system:serviceaccounts'] }] });
    const { code, stderr } = await world.kubectl(['apply', '-k', RBAC]);
    expect(code, stderr).to.equal(0);
    await setMayRead(false);
    await world.startManager({ kubeconfigPath: world.controlPlane.user(MANAGER).kubeconfigPath });
  });
  after(() => world.finish());

  async function setMayRead(may: boolean): Promise<void> {
    const rule = {
      apiGroups: ['apiextensions.k8s.io'],
      resources: ['customresourcedefinitions'],
      resourceNames: ['awsfargateprofiles.infrastructure.cluster.x-k8s.io'],
      verbs: ['get'],
    };
    const { api } = world.controlPlane;
    const { rules = [] } = await api.get<{ rules?: readonly { apiGroups: readonly string[] }[] }>(CLUSTER_ROLE);
    const others = rules.filter(({ apiGroups }) => !apiGroups.includes('apiextensions.k8s.io'));
    await api.patch(CLUSTER_ROLE, { rules: may ? [...others, rule] : others });
  }

  it('may be anything: deletions wait for it and say so, and the rest goes on', async () => {
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('unread'));
    await world.ready('unread');
    const calls = callsFromNow(world.aws);
    await world.delete('unread');
    const held = await world.condition('unread', 'Deleting', { status: 'True', reason: 'WaitingForAPI' });
    expect(messageOf(held, 'Deleting')).to.match(/^CustomResourceDefinition objects cannot be read: .* is forbidden: /);
    expect(calls.mutations()).to.deep.equal([]);
    expect(world.manager.log()).to.contain('"The CRD cannot be read: nothing is deleted in AWS"');
    await setMayRead(true);
    await world.gone('unread', BACK);
  });
});
