import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { applyCrds } from '../../envtest/clients/crds.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { messageOf, summaryOf } from '../../world/object-state.ts';
import { ACCOUNT, OUR_CRD, controlPlanePath, fargateProfile, useWorld } from '../../world/world.ts';
import { CAPA_CRD } from './profiles.ts';

const MESSAGE =
  'The CRD awsfargateprofiles.infrastructure.cluster.x-k8s.io comes from provider infrastructure-aws and lacks spec.eksCluster, spec.roleARN, spec.roleAdditionalPolicies and 21 more, so the controller cannot read the whole object and changes nothing in AWS. Apply the CRD of cluster-api-provider-aws-fargate again (kubectl apply --server-side --force-conflicts -k config/crd, in its repository at the version of the manager). Then reapply the manifest of each AWSFargateProfile that you want to keep, because the other CRD drops fields of these objects. The controller then continues.';
const ROLE_ARN = `arn:aws:iam::${ACCOUNT}:role/platform`;

describe('a CRD of Cluster API Provider AWS applied over the CRD of this provider', () => {
  const world = useWorld();
  before(async () => {
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
    // The next test deletes `plain` and `kept`, whose overlap with `living` then ends. The manager must not write this
    // to `living` under the foreign schema, so the test first waits until `living` shows the overlap.
    await eventually(async () => {
      const overlap = messageOf(await object('living'), 'SelectorsOverlap');
      return ['plain', 'kept'].every((name) => overlap.includes(`default/${name}`));
    });
  });

  const object = async (name: string): Promise<RawObject> => {
    const found = await world.profile(name);
    if (found === undefined) throw new Error(`${name} is gone`);
    return found;
  };
  /**
   * Waits until the API server serves this project's schema of AWSFargateProfile, or that of Cluster API Provider AWS
   * if `ours` is false. The API server serves a changed schema only some time after it has accepted the CRD.
   */
  const waitForSchema = (ours: boolean): Promise<boolean> =>
    eventually(async () => ((await object('living')).spec?.['roleARN'] !== undefined) === ours);

  it('stops all changes in AWS while it is served, even for deleted objects and a cluster teardown', async () => {
    const before = await object('living');
    const calls = callsFromNow(world.aws);
    await applyCrds(world.controlPlane.api, CAPA_CRD);
    await waitForSchema(false);
    // The manager has read the CRD of this provider some seconds ago, and does not know the other CRD yet. The API
    // server drops what the manager records in the status of this object, so the manager must create nothing.
    await world.apply(fargateProfile('new'));
    await eventually(async () => (await world.manager.metric('capaf_foreign_schema')) === 1);
    await Promise.all([world.delete('plain'), world.delete('kept')]);
    await world.controlPlane.api.delete(controlPlanePath('ending'));

    for (const name of ['plain', 'kept']) {
      const held = await world.condition(name, 'Deleting', { status: 'True', reason: 'ForeignSchema' });
      expect(summaryOf(held)).to.deep.equal({
        Ready: 'False Deleting',
        Reconciling: 'False',
        Stalled: 'True ForeignSchema',
      });
      expect(messageOf(held, 'Stalled')).to.equal(MESSAGE);
      await world.event(name, `Warning ForeignSchema: ${MESSAGE}`);
    }
    await world.event(
      'living',
      'Warning ForeignSchema: The CRD awsfargateprofiles.infrastructure.cluster.x-k8s.io comes from',
    );
    expect(world.manager.log()).to.contain(
      '"AWSFargateProfiles are served with a foreign schema: nothing is changed in AWS"',
    );
    expect((await object('ending')).metadata.deletionTimestamp).to.equal(undefined);
    expect(calls.mutations()).to.deep.equal([]);
    // The manager must not write the AWSFargateProfile, because any write would lose the fields that the schema of
    // Cluster API Provider AWS lacks.
    expect((await object('living')).metadata.resourceVersion).to.equal(before.metadata.resourceVersion);
  });

  it('can be replaced with our CRD: retained profiles stay, other deletions continue, and live objects have lost no fields', async () => {
    const calls = callsFromNow(world.aws);
    await applyCrds(world.controlPlane.api, OUR_CRD);
    await waitForSchema(true);
    await world.gone('plain');
    await world.gone('kept');
    await world.gone('ending');
    expect(world.awsView.profile('default_plain')).to.equal(undefined);
    expect(world.awsView.role('prod-default_plain_fargate')).to.equal(undefined);
    expect(world.awsView.profile('default_ending')).to.equal(undefined);
    expect(world.awsView.profile('default_kept')?.status).to.equal('ACTIVE');
    expect(world.awsView.role('prod-default_kept_fargate')?.attachedPolicies).to.have.length(1);
    expect(calls.about('default_kept').filter(({ mutates }) => mutates)).to.deep.equal([]);

    await world.ready('new');
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
