import { expect } from 'chai';
import { fieldAt } from 'controller-runtime/json';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { CLUSTER, EKS_CLUSTER, MINUTE, createCluster } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { AT_ONCE, ROLE, WEB, patchControlPlane, patchWeb, startAndApply, startUntilReady } from './phases/phase.ts';

const statusOf = (world: SimulatedWorld, ...path: readonly string[]): unknown =>
  ['status', ...path].reduce<unknown>(fieldAt, world.profile(WEB));

describe('a live profile', () => {
  // spec.profileName is immutable, but the API server accepts the removal of a name that ends in `_<metadata.name>`.
  // Cluster API Provider AWS writes such a default name into the spec, and a user who applies a manifest without the
  // field removes the name.
  it('keeps its name when spec.profileName is removed', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, { profileName: `shared_${WEB}` });
    const before = world.mutations().length;
    patchWeb(world, { spec: { profileName: null } });
    await world.until('the new spec observed', () => statusOf(world, 'observedGeneration') === 2);
    await world.clock.advance(30 * MINUTE);
    expect(world.condition(WEB)?.status).to.equal('True');
    expect(statusOf(world, 'profileName')).to.equal(`shared_${WEB}`);
    expect(statusOf(world, 'role', 'name')).to.equal(`${CLUSTER}-shared_${WEB}_fargate`);
    expect(world.mutations()).to.have.length(before);
    await world.deleteAndFinish(WEB);
  });

  it('keeps its role when spec.roleName is removed', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, { roleName: 'team_fargate' });
    const before = world.mutations().length;
    patchWeb(world, { spec: { roleName: null } });
    await world.until('the new spec observed', () => statusOf(world, 'observedGeneration') === 2);
    await world.clock.advance(30 * MINUTE);
    expect(world.condition(WEB)?.status).to.equal('True');
    expect(statusOf(world, 'role', 'name')).to.equal('team_fargate');
    expect(world.mutations()).to.have.length(before);
    await world.deleteAndFinish(WEB);
  });

  it('stays Ready and unchanged in AWS when the spec says the same in other words', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, {
      selectors: [{ namespace: 'web' }, { namespace: 'batch', labels: { app: 'jobs' } }],
    });
    const before = world.mutations().length;
    const subnets = statusOf(world, 'subnets');
    expect(subnets).to.be.an('array').with.length.greaterThan(1);
    const specs: readonly Readonly<Record<string, unknown>>[] = [
      {
        selectors: [
          { namespace: 'web', labels: {} },
          { namespace: 'batch', labels: { app: 'jobs' } },
        ],
      },
      { selectors: [{ namespace: 'batch', labels: { app: 'jobs' } }, { namespace: 'web' }] },
      { subnetIDs: Array.isArray(subnets) ? subnets.toReversed() : undefined },
      { subnetIDs: [] },
      { rolePath: '/' },
      { rolePath: '' },
      { roleName: ROLE, profileName: statusOf(world, 'profileName') },
      { roleName: null, profileName: null },
      { adoptionPolicy: 'Owned', deletionPolicy: 'Delete', updateStrategy: { type: 'Reject' } },
      { additionalTags: {}, roleAdditionalPolicies: [] },
    ];
    for (const [index, spec] of specs.entries()) {
      patchWeb(world, { spec });
      await world.until(JSON.stringify(spec), () => statusOf(world, 'observedGeneration') === 2 + index);
      await world.clock.advance(30 * MINUTE);
      expect(world.condition(WEB), JSON.stringify(spec)).to.include({ status: 'True', observedGeneration: 2 + index });
    }
    expect(world.mutations()).to.have.length(before);
    await world.deleteAndFinish(WEB);
  });

  it('keeps its name when spec.profileName is removed while EKS creates it', async () => {
    const world = new SimulatedWorld();
    startAndApply(world, { profileName: `shared_${WEB}` });
    await world.until('the create', () => statusOf(world, 'profileStatus') === 'CREATING');
    patchWeb(world, { spec: { profileName: null } });
    await world.ready(WEB);
    expect(world.eksChanges()).to.deep.equal([`Create shared_${WEB}`]);
    await world.deleteAndFinish(WEB);
  });

  it('is kept when another CRD has let spec.profileName change, and the condition says what to do', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world);
    const before = world.mutations().length;
    patchWeb(world, { spec: { profileName: 'other' } });
    await world.until('SpecDiffers', () => world.condition(WEB, 'Stalled')?.reason === 'SpecDiffers');
    expect(world.condition(WEB)?.message).to.equal(
      'Fargate profile "default_web" differs from the spec, and EKS cannot change these fields of a profile: the name is ' +
        'default_web in AWS, but other in the spec. To replace the profile, set spec.updateStrategy.type to Replace; to keep ' +
        'it, also revert the spec to match the profile. With Replace, the controller creates a new profile and then deletes ' +
        'this one, which stops its pods. Until you act, the controller does not change the profile.',
    );
    expect(statusOf(world, 'profileStatus')).to.equal('ACTIVE');
    expect(world.mutations()).to.have.length(before);
    await world.deleteAndFinish(WEB);
  });

  it('gets the computed name only after another client has deleted it', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, { profileName: `shared_${WEB}` });
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: `shared_${WEB}` });
    patchWeb(world, { spec: { profileName: null } });
    await world.clock.advance(AT_ONCE);
    await world.ready(WEB);
    expect(world.eksChanges()).to.deep.equal([`Create shared_${WEB}`, `Create default_${WEB}`]);
    await world.deleteAndFinish(WEB);
  });

  it('keeps its subnets when the control plane gets a subnet while EKS creates the profile', async () => {
    const world = new SimulatedWorld();
    startAndApply(world);
    await world.until('the create', () => statusOf(world, 'profileStatus') === 'CREATING');
    const controlPlane = world.object('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`);
    const listed = ['spec', 'network', 'subnets'].reduce<unknown>(fieldAt, controlPlane);
    const subnets: readonly unknown[] = Array.isArray(listed) ? listed : [];
    const added = {
      id: 'added',
      resourceID: 'subnet-0123456789abcdef0',
      isPublic: false,
      availabilityZone: 'us-east-1a',
    };
    patchControlPlane(world, { spec: { network: { subnets: [...subnets, added] } } });
    await world.ready(WEB);
    expect(world.eksChanges()).to.deep.equal([`Create default_${WEB}`]);
    expect(statusOf(world, 'subnets')).not.to.include('subnet-0123456789abcdef0');
    await world.deleteAndFinish(WEB);
  });

  it('hears of the authentication mode of an EKS cluster that was made again under the same name', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, { rolePath: '/team-a/' });
    world.remove(PLURAL, WEB);
    await world.gone(WEB);
    world.aws.admin.removeCluster({ name: EKS_CLUSTER });
    world.remove('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`);
    world.remove('clusters', CLUSTER);
    await world.until('the control plane gone', () => world.objects('awsmanagedcontrolplanes').length === 0);
    createCluster(world);
    world.aws.admin.setCluster({ name: EKS_CLUSTER, authenticationMode: 'CONFIG_MAP' });
    world.applyWith(WEB, { rolePath: '/team-a/' });
    await world.until('the mode of the new EKS cluster', () => world.condition(WEB)?.reason === 'RolePathNotMapped');
    patchWeb(world, { spec: { rolePath: null } });
    await world.ready(WEB);
    await world.deleteAndFinish(WEB);
  });
});
