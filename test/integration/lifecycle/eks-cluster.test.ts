import { expect } from 'chai';
import { applyCrds } from '../../envtest/clients/crds.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { messageOf, stalled, summaryOf } from '../../world/object-state.ts';
import { triggerReconcile } from '../../world/trigger-reconcile.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, OUR_CRD, REGION, fargateProfile, pathOf, startWorld } from '../../world/world.ts';
import { CAPA_CRD } from '../crd/profiles.ts';

const ALLOWED = `--allow-eks-cluster=default=${ACCOUNT}/${REGION}/tools*`;
const roleOf = (name: string, cluster = 'tools'): string => `${cluster}-default_${name}_fargate`;

// In these tests, the API server serves neither the kinds of Cluster API nor those of Cluster API Provider AWS.
describe('an AWSFargateProfile in an EKS cluster that Cluster API does not manage', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ crds: [OUR_CRD] });
    for (const name of ['tools', 'tools-gone']) world.aws.admin.createCluster({ name, region: REGION });
    await world.startManager({ flags: [ALLOWED] });
  });
  after(() => world.finish());

  const inEks = (name: string, eksCluster: object = { name: 'tools' }): object =>
    fargateProfile(name, { clusterName: undefined, eksCluster });

  it('becomes Ready in the region of the manager, is corrected, and is deleted with its role', async () => {
    await world.apply(inEks('web'));
    const { metadata, status } = await world.ready('web');
    expect(metadata.ownerReferences).to.equal(undefined);
    expect(status).to.deep.include({ eksClusterName: 'tools', region: REGION, account: ACCOUNT });
    expect(status?.['subnets']).to.deep.equal(world.awsView.profile('default_web')?.subnets);

    world.aws.admin.removeProfile({ cluster: 'tools', name: 'default_web' });
    await triggerReconcile(world, 'web');
    await world.condition('web', 'Ready', { status: 'False', reason: 'Creating' });
    await world.ready('web');

    await world.delete('web');
    await world.gone('web');
    expect(world.awsView.role(roleOf('web'))).to.equal(undefined);
  });

  it('has a hashed role name if the name would be too long for IAM', async () => {
    const name = `web-${'x'.repeat(60)}`;
    await world.apply(inEks(name));
    const { status } = await world.ready(name);
    const role = world.aws.admin.roles().find(({ foreign }) => !foreign);
    expect(role?.name).to.match(/^capa_[0-9a-z]{27}$/);
    expect(status?.['role']).to.deep.include({ name: role?.name, managed: true });
    expect(Object.keys(role?.tags ?? {}).filter((key) => key.startsWith('kubernetes.io/'))).to.deep.equal([]);
    await world.delete(name);
    await world.gone(name);
  });

  it('is refused without a call to AWS where the operator does not allow the EKS cluster', async () => {
    const calls = callsFromNow(world.aws);
    await world.apply(inEks('refused', { name: 'payments' }));
    const object = await world.condition('refused', 'Stalled', { status: 'True', reason: 'NotAllowedByOperator' });
    expect(summaryOf(object)).to.deep.equal(stalled('NotAllowedByOperator'));
    expect(messageOf(object, 'Ready')).to.include(`"${REGION}/payments" in spec.eksCluster`);
    expect(object.metadata.finalizers).to.equal(undefined);
    expect(calls.all()).to.deep.equal([]);
    await world.delete('refused');
    await world.gone('refused');
  });

  it('waits while EKS creates the EKS cluster, and names the permissions that EKS lacks to choose subnets', async () => {
    const { admin } = world.aws;
    admin.createCluster({ name: 'tools-new', region: REGION });
    admin.setCluster({ name: 'tools-new', status: 'CREATING' });
    await world.apply(inEks('early', { name: 'tools-new' }));
    await world.condition('early', 'Reconciling', { status: 'True', reason: 'WaitingForEKSCluster' });
    expect(world.awsView.role(roleOf('early', 'tools-new'))).to.equal(undefined);
    admin.deny({ principal: '*', action: 'ec2:DescribeRouteTables' });
    admin.setCluster({ name: 'tools-new', status: 'ACTIVE' });
    await triggerReconcile(world, 'early');
    const denied = await world.condition('early', 'Ready', { status: 'False', reason: 'SubnetChoiceDenied' });
    expect(messageOf(denied, 'Ready')).to.include('Allow ec2:DescribeSubnets and ec2:DescribeRouteTables');
    admin.allow();
    await world.delete('early');
    await world.gone('early');
    expect(world.awsView.role(roleOf('early', 'tools-new'))).to.equal(undefined);
    admin.removeCluster({ name: 'tools-new' });
  });

  it('loses its role when it is deleted after its EKS cluster', async () => {
    await world.apply(inEks('orphan', { name: 'tools-gone' }));
    await world.ready('orphan');
    world.aws.admin.removeCluster({ name: 'tools-gone' });
    await triggerReconcile(world, 'orphan');
    await world.condition('orphan', 'Stalled', { status: 'True', reason: 'EKSClusterNotFound' });
    expect(world.awsView.role(roleOf('orphan', 'tools-gone'))).not.to.equal(undefined);
    await world.delete('orphan');
    await world.gone('orphan');
    expect(world.awsView.role(roleOf('orphan', 'tools-gone'))).to.equal(undefined);
  });

  it('gets its eksCluster back once, after the CRD of Cluster API Provider AWS has dropped it', async () => {
    const { api } = world.controlPlane;
    await world.apply(inEks('pruned'));
    await world.ready('pruned');
    await applyCrds(api, CAPA_CRD);
    const path = pathOf('pruned', 'default');
    await eventually(async () => (await api.get(path)).spec?.['eksCluster'] === undefined);
    await api.patch(path, { metadata: { labels: { written: 'under-the-other-crd' } } });
    await applyCrds(api, OUR_CRD);
    const stopped = await world.condition('pruned', 'Stalled', { status: 'True', reason: 'ClusterNotNamed' });
    expect(messageOf(stopped, 'Stalled')).to.include(`${ACCOUNT}/${REGION}/tools`);
    await world.patch('pruned', { metadata: { labels: { still: 'changeable' } } });
    await world.patch('pruned', { spec: { additionalTags: { still: 'changeable' } } });
    await world.patch('pruned', { spec: { eksCluster: { name: 'tools' } } });
    await world.ready('pruned');
    await eventually(() => world.awsView.profile('default_pruned')?.tags['still'] === 'changeable');
    await world.delete('pruned');
    await world.gone('pruned');
  });
});
