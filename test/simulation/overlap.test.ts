import { expect } from 'chai';
import { serveCrd, serveForeignVersions, serveOurSchema } from './phases/foreign-crd.ts';
import { PLURAL, RECORD_ANNOTATION } from '../../api/v1beta2/index.ts';
import { conditionsOf } from './world/problems.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';
import { isTenantReady, tenantProfile } from './world/tenants.ts';
import { MINUTE, SECOND } from './world/cluster.ts';
import { it } from './world/it.ts';

/** Longer than the time for which the overlap controller waits after a change. */
const TOLD = 5 * SECOND;

describe('two objects whose selectors a pod can match both', () => {
  const overlapOf = (world: SimulatedWorld, name: string) => world.condition(name, 'SelectorsOverlap');
  const reasonOf = (world: SimulatedWorld, name: string): string | undefined => overlapOf(world, name)?.reason;

  it('tell which profile takes the pod, without an AWS call for the one at rest', async (world) => {
    await world.startWithReady('shop');
    expect(overlapOf(world, 'shop')).to.include({ status: 'False', reason: 'NoOverlapSeen' });
    world.applyWith('all', { selectors: [{ namespace: '*' }] });
    // For the new object, the manager reads all profiles of the EKS cluster, including that of `shop`. So the test
    // counts the reads of the role of `shop`.
    const calls = () =>
      world.aws.admin.calls().filter(({ identifiers }) => identifiers['RoleName'] === 'prod-default_shop_fargate');
    const before = calls().length;
    await world.until('the first look at AWS', () => reasonOf(world, 'all') !== undefined);
    await world.clock.advance(TOLD);
    expect(overlapOf(world, 'shop')).to.include({
      status: 'True',
      reason: 'Shadowed',
      message:
        'No pod starts on this profile by its selectors, because profiles whose names sort first match every such pod. A pod can match both namespace shop of this object and namespace * of AWSFargateProfile default/all, and then starts on profile "default_all". Narrow the selectors, or set the label eks.amazonaws.com/fargate-profile of the pods to the name of the profile that you want.',
    });
    expect(reasonOf(world, 'all')).to.equal('Overlap');
    expect(calls()).to.have.length(before);
    await world.ready('all');
    expect(world.isReady('shop')).to.equal(true);
    world.delete('all');
    await world.clock.advance(TOLD);
    expect(overlapOf(world, 'shop')).to.include({ status: 'False', reason: 'NoOverlapSeen', message: '' });
    await world.gone('all');
    expect(world.warnings()).to.deep.equal([]);
  });

  it('are named up to three, and the others counted', async (world) => {
    const others = ['b', 'c', 'd', 'e', 'f'];
    await world.startWithReady('a');
    for (const name of others) world.applyWith(name, { selectors: [{ namespace: 'a', labels: { app: name } }] });
    await world.ready(...others);
    await world.clock.advance(TOLD);
    const { message = '' } = overlapOf(world, 'a') ?? {};
    expect(message.match(/AWSFargateProfile default\/./g)).to.have.length(3);
    expect(message).to.contain('selectors of 2 more objects').and.to.contain('namespace a with app=b');
    expect(reasonOf(world, 'b')).to.equal('Shadowed');
  });

  it('are told across namespaces if the operator allows both to use the EKS cluster', async (world) => {
    world.aws.admin.createCluster({ name: 'shared', region: 'us-east-1' });
    world.start('--allow-eks-cluster=team-*=123456789012/us-east-1/shared');
    const teams = ['team-a', 'team-b'];
    const spec = { eksCluster: { name: 'shared', region: 'us-east-1' }, selectors: [{ namespace: 'web' }] };
    for (const team of teams)
      world.api.storage.create(world.api.kind(PLURAL), team, { metadata: { name: 'web' }, spec });
    const overlapIn = (team: string) =>
      conditionsOf(tenantProfile(world, team, 'web')).find(({ type }) => type === 'SelectorsOverlap');
    await world.until('both are Ready', () => teams.every((team) => isTenantReady(world, team, 'web')));
    await world.clock.advance(TOLD);
    expect(overlapIn('team-a')?.message).to.contain('namespace web of AWSFargateProfile team-b/web');
    expect(overlapIn('team-b')?.message).to.contain('namespace web of AWSFargateProfile team-a/web');
  });

  it('are told before the new profile exists, as soon as AWS has confirmed its EKS cluster', async (world) => {
    await world.startWithReady('shop');
    const id = world.aws.admin.addFault({
      operation: 'CreateFargateProfile',
      kind: 'error:ResourceLimitExceededException:Fargate Profile limit exceeded for cluster',
    });
    world.applyWith('all', { selectors: [{ namespace: '*' }] });
    await world.reason('all', 'QuotaExceeded');
    await world.clock.advance(TOLD);
    expect(world.profile('all')?.status).to.not.have.property('profileARN');
    expect(overlapOf(world, 'shop')?.message).to.contain('namespace * of AWSFargateProfile default/all');
    expect([reasonOf(world, 'shop'), reasonOf(world, 'all')]).to.deep.equal(['Shadowed', 'Overlap']);
    world.delete('all');
    await world.gone('all');
    await world.clock.advance(TOLD);
    expect(reasonOf(world, 'shop')).to.equal('NoOverlapSeen');
    world.aws.admin.removeFault({ id });
  });

  it('count by a record without status in their own namespace only', async (world) => {
    world.aws.admin.createCluster({ name: 'shared', region: 'us-east-1' });
    world.start('--allow-eks-cluster=*=123456789012/us-east-1/shared');
    const eksCluster = { name: 'shared', region: 'us-east-1' };
    const selectors = [{ namespace: 'web' }];
    const create = (namespace: string, name: string, annotations: object = {}): void => {
      const manifest = { metadata: { name, annotations }, spec: { eksCluster, selectors } };
      world.api.storage.create(world.api.kind(PLURAL), namespace, manifest);
    };
    const recorded = (namespace: string, name: string) => ({
      'cluster.x-k8s.io/paused': '',
      [RECORD_ANNOTATION]: JSON.stringify({
        v: 1,
        for: `${namespace}/${name}`,
        in: '123456789012/us-east-1/shared',
        profiles: [],
        roles: [],
      }),
    });
    create('team-a', 'web');
    await world.until('it is Ready', () => isTenantReady(world, 'team-a', 'web'));
    const overlap = () =>
      conditionsOf(tenantProfile(world, 'team-a', 'web')).find(({ type }) => type === 'SelectorsOverlap');
    create('team-b', 'restored', recorded('team-b', 'restored'));
    await world.clock.advance(TOLD);
    expect(overlap()?.reason).to.equal('NoOverlapSeen');
    create('team-a', 'moved', recorded('team-a', 'moved'));
    await world.clock.advance(TOLD);
    expect(overlap()?.message).to.contain('AWSFargateProfile team-a/moved').and.to.not.contain('team-b');
  });

  it('count while one of them is paused, which is not told itself', async (world) => {
    await world.startWithReady('shop');
    world.patch('awsfargateprofiles', 'shop', { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } });
    await world.clock.advance(TOLD);
    world.applyWith('all', { selectors: [{ namespace: '*' }] });
    await world.ready('all');
    expect(reasonOf(world, 'all')).to.equal('Overlap');
    expect(reasonOf(world, 'shop')).to.equal('NoOverlapSeen');
    world.patch('awsfargateprofiles', 'shop', { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
    await world.clock.advance(MINUTE);
    expect(reasonOf(world, 'shop')).to.equal('Shadowed');
  });

  it('are told after a start of the manager, and by a restart nothing is written', async (world) => {
    const manager = await world.startWithReady('shop', 'all');
    world.patch('awsfargateprofiles', 'all', { spec: { additionalTags: { a: 'b' } } });
    await world.clock.advance(MINUTE);
    await world.stop(manager);
    const { length } = world.writes;
    world.start();
    await world.clock.advance(MINUTE);
    expect(world.writes.slice(length).filter(({ path }) => path.includes('awsfargateprofiles'))).to.deep.equal([]);
  });

  it('are not told as soon as another CRD is served, under which each write loses fields', async (world) => {
    serveCrd(world);
    await world.startWithReady('shop');
    world.applyWith('all', { selectors: [{ namespace: '*' }] });
    await world.ready('all');
    await world.clock.advance(MINUTE);
    expect(reasonOf(world, 'shop')).to.equal('Shadowed');
    // In this reconcile, the manager reads its CRD. Reconciles use the result for ten seconds, but the overlap
    // controller must read the CRD again before it writes.
    world.triggerReconcile('shop');
    await world.clock.advance(SECOND);
    const before = world.profile('shop')?.metadata.resourceVersion;
    serveForeignVersions(world);
    world.patch('awsfargateprofiles', 'all', { spec: { selectors: [{ namespace: 'else' }] } });
    await world.clock.advance(TOLD);
    expect(world.profile('shop')?.metadata.resourceVersion).to.equal(before);
    serveOurSchema(world);
    await world.until('the end of the overlap', () => reasonOf(world, 'shop') === 'NoOverlapSeen', 60 * MINUTE);
  });
});
