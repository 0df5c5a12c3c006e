import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { text } from 'controller-runtime/testing';
import { FINALIZER, PLURAL } from '../../api/v1beta2/index.ts';
import { OWNER_TAG } from '../../pkg/fargate/tags/tag-keys.ts';
import { ACCOUNT, CLUSTER, CONTROL_PLANE_REF, EKS_CLUSTER, MINUTE } from './world/cluster.ts';
import { CAPA_TRUST } from '../world/aws/capa-resources.ts';
import { STATIC_IDENTITY } from '../world/aws/identities.ts';
import { goodKeys, putStaticIdentity } from './phases/identity-objects.ts';
import { acceptRequests, deleteHeld, removeHeldFinalizers } from './phases/phase.ts';
import { recordAnnotation } from './world/records.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const REGION = 'us-east-1';
const TOOLS = { name: 'tools', region: REGION };
const ALLOWED = `--allow-eks-cluster=default=${ACCOUNT}/${REGION}/to*`;
const ROLE = 'tools-default_web_fargate';

function newWorld(): SimulatedWorld {
  const world = new SimulatedWorld();
  world.aws.admin.createCluster({ name: TOOLS.name });
  return world;
}

const apply = (world: SimulatedWorld, name = 'web', spec: object = {}): void =>
  world.applyWith(name, { clusterName: undefined, eksCluster: TOOLS, ...spec });

/**
 * The names of the calls to EKS and IAM. The list leaves out GetCallerIdentity, with which the manager asks STS for its
 * account.
 */
const callsToEksAndIam = (world: SimulatedWorld): readonly string[] =>
  world.aws.admin
    .calls()
    .map(({ operation }) => operation)
    .filter((operation) => operation !== 'GetCallerIdentity');

async function readyWorld(): Promise<SimulatedWorld> {
  const world = newWorld();
  world.start(ALLOWED);
  apply(world);
  await world.ready('web');
  return world;
}

describe('an object in an EKS cluster that Cluster API does not manage', () => {
  it('becomes Ready with the names and tags of the EKS cluster, in the subnets that EKS chooses', async () => {
    const world = await readyWorld();
    const object = world.profile('web');
    const status = object?.status;
    expect(object?.metadata.ownerReferences ?? []).to.deep.equal([]);
    expect(object?.metadata.labels ?? {}).to.deep.equal({});
    expect(status).to.deep.include({ eksClusterName: 'tools', region: REGION, profileName: 'default_web' });
    expect(Object.keys(world.eksProfile('web')?.tags ?? {})).to.deep.equal([
      'sigs.k8s.io/cluster-api-provider-aws-fargate/owner',
    ]);
    expect(world.role('', ROLE)?.tags).to.deep.equal({
      'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster': `arn:aws:eks:${REGION}:${ACCOUNT}:cluster/tools`,
      'sigs.k8s.io/cluster-api-provider-aws-fargate/namespace': 'default',
    });
    const chosen = world.eksProfile('web')?.subnets ?? [];
    expect(chosen).to.have.length.above(0);
    expect(status).to.deep.include({ subnets: chosen });
    const before = world.mutations().length;
    await world.clock.advance(60 * MINUTE);
    expect(world.mutations(), 'changes without drift').to.have.length(before);
    expect(world.problems()).to.deep.equal([]);
    await world.deleteAndFinish('web');
  });

  it('shares the turn of its EKS cluster with its siblings', async () => {
    const world = newWorld();
    world.start(ALLOWED);
    for (const name of ['a', 'b', 'c']) apply(world, name);
    await world.ready('a', 'b', 'c');
    await world.deleteAndFinish('a', 'b', 'c');
    expect(world.problems()).to.deep.equal([]);
  });

  it('shares no role with an object in an EKS cluster of the same name in another account', async () => {
    const account = '210987654321';
    const eksCluster = { ...TOOLS, identityRef: { kind: STATIC_IDENTITY, name: 'team-a' } };
    const world = newWorld();
    world.aws.admin.createCluster({ name: 'tools', account });
    putStaticIdentity(world, goodKeys(world, account));
    world.start(ALLOWED, ALLOWED.replace(ACCOUNT, account));
    apply(world, 'here', { roleName: 'pods', additionalTags: { stage: 'a' } });
    await world.ready('here');
    apply(world, 'there', { eksCluster, roleName: 'pods', additionalTags: { stage: 'b' } });
    await world.ready('there', 'here');
    world.delete('there');
    await world.gone('there');
    expect(world.aws.admin.roles().filter((each) => each.account === account && each.name === 'pods')).to.deep.equal(
      [],
    );
    expect(world.isReady('here')).to.equal(true);
    await world.deleteAndFinish('here');
  });

  it('is refused without a call to AWS if the operator does not allow the EKS cluster', async () => {
    for (const flags of [[], [ALLOWED.replace('default=', 'other=')], [ALLOWED.replace('/to*', '/x')]]) {
      const world = newWorld();
      world.start(...flags);
      apply(world);
      await world.until('it is refused', () => world.condition('web', 'Stalled')?.reason === 'NotAllowedByOperator');
      await world.clock.advance(30 * MINUTE);
      expect(world.aws.admin.calls()).to.deep.equal([]);
      await world.deleteAndFinish('web');
    }
  });

  it('is refused without a call to EKS or IAM if the credentials are those of another account', async () => {
    const world = newWorld();
    world.start(ALLOWED.replace(ACCOUNT, '999999999999'));
    apply(world);
    await world.until('it is refused', () => world.condition('web', 'Stalled')?.reason === 'NotAllowedByOperator');
    expect(callsToEksAndIam(world)).to.deep.equal([]);
    await world.deleteAndFinish('web');
  });

  it('stays Ready without calls to EKS or IAM after the operator withdraws the permission, and can be deleted', async () => {
    for (const [flags, calls] of [
      [[], []],
      [[ALLOWED.replace(ACCOUNT, '999999999999')], ['GetCallerIdentity']],
    ] as const) {
      const world = await readyWorld();
      const changes = world.readyChanges('web');
      await world.stopAll();
      const before = world.aws.admin.calls().length;
      world.start(...flags);
      const isTold = (): boolean => world.condition('web', 'Stalled')?.reason === 'NotAllowedByOperator';
      await world.until('it is told', isTold, 30 * MINUTE);
      world.aws.admin.removeProfile({ cluster: 'tools', name: 'default_web' });
      await world.clock.advance(60 * MINUTE);
      expect(changes).to.deep.equal([]);
      const since = world.aws.admin.calls().slice(before);
      expect([...new Set(since.map(({ operation }) => operation))]).to.deep.equal(calls);
      expect(world.eksProfile('web')).to.equal(undefined);
      await world.deleteAndFinish('web');
    }
  });

  describe('with a finalizer, annotation, and status that claim a profile in an EKS cluster that is not allowed', () => {
    /** Puts into the EKS cluster a profile and a role that have the names of the object, and the given tags. */
    function foreignWorld(tags: Readonly<Record<string, string>>): SimulatedWorld {
      const world = newWorld();
      const { arn } = world.aws.admin.putRole({ name: ROLE, trustPolicy: CAPA_TRUST, tags });
      world.aws.admin.putProfile({ cluster: 'tools', name: 'default_web', podExecutionRoleArn: arn, tags });
      return world;
    }
    function applyClaim(world: SimulatedWorld, status: object = {}): void {
      world.create(PLURAL, {
        metadata: {
          name: 'web',
          finalizers: [FINALIZER],
          annotations: recordAnnotation({ name: 'web' }, { eksCluster: 'tools' }),
        },
        spec: { eksCluster: TOOLS, selectors: [{ namespace: 'web' }] },
      });
      world.patch(PLURAL, 'web', { status }, 'status');
    }
    const STATUS = { account: ACCOUNT, region: REGION, eksClusterName: 'tools', initialization: { provisioned: true } };

    it('is refused without a call to EKS or IAM', async () => {
      for (const [flags, calls] of [
        [[], []],
        [[ALLOWED.replace('default=', 'other=')], []],
        [[ALLOWED.replace(ACCOUNT, '999999999999')], ['GetCallerIdentity']],
      ] as const)
        for (const status of [{}, STATUS]) {
          const world = foreignWorld({ [OWNER_TAG]: 'payments/api' });
          world.start(...flags);
          applyClaim(world, status);
          await world.until(
            'it is refused',
            () => world.condition('web', 'Stalled')?.reason === 'NotAllowedByOperator',
          );
          await world.clock.advance(30 * MINUTE);
          const operations = world.aws.admin.calls().map(({ operation }) => operation);
          expect([...new Set(operations)]).to.deep.equal(calls);
          expect(world.isReady('web')).to.equal(false);
        }
    });

    for (const [what, tags] of [
      ['another owner', { [OWNER_TAG]: 'payments/api' }],
      ['no owner', {}],
    ] as const)
      it(`is deleted without events about the profile and role of ${what}`, async () => {
        const world = foreignWorld(tags);
        world.start();
        applyClaim(world);
        await world.until('it is refused', () => world.condition('web', 'Stalled')?.reason === 'NotAllowedByOperator');
        world.delete('web');
        await world.gone('web');
        expect(world.mutations()).to.deep.equal([]);
        expect(world.eventReasons).to.deep.equal(['NotAllowedByOperator']);
        world.aws.admin.removeProfile({ cluster: 'tools', name: 'default_web' });
        world.aws.admin.removeRole({ name: ROLE });
        await world.finish();
      });
  });

  it('waits while the EKS cluster is UPDATING', async () => {
    const world = newWorld();
    world.aws.admin.setCluster({ name: 'tools', status: 'UPDATING' });
    world.start(ALLOWED);
    apply(world);
    await world.until('it waits', () => world.condition('web', 'Reconciling')?.reason === 'WaitingForEKSCluster');
    await world.clock.advance(5 * MINUTE);
    expect(world.mutations()).to.deep.equal([]);
    world.aws.admin.setCluster({ name: 'tools', status: 'ACTIVE' });
    await world.ready('web');
    await world.deleteAndFinish('web');
  });

  it('needs its eksCluster back after another CRD has dropped it, and can be deleted without', async () => {
    const world = await readyWorld();
    world.patch(PLURAL, 'web', { spec: { eksCluster: null } });
    await world.until('it is told', () => world.condition('web', 'Stalled')?.reason === 'ClusterNotNamed');
    expect(world.condition('web', 'Stalled')?.message).to.include(`${ACCOUNT}/${REGION}/tools`);
    world.patch(PLURAL, 'web', { spec: { eksCluster: { ...TOOLS, name: 'tonic' } } });
    await world.until('it is refused', () => world.condition('web', 'Stalled')?.reason === 'TargetChanged');
    world.patch(PLURAL, 'web', { spec: { eksCluster: TOOLS } });
    await world.ready('web');
    world.patch(PLURAL, 'web', { spec: { eksCluster: null } });
    await world.deleteAndFinish('web');
  });
});

describe('an object that names the EKS cluster of a control plane of its namespace', () => {
  const MANAGED = { name: EKS_CLUSTER, region: REGION };
  const ALLOW_MANAGED = `--allow-eks-cluster=default=${ACCOUNT}/${REGION}/*`;
  const CONTROL_PLANE = 'awsmanagedcontrolplanes';
  const controlPlaneName = `${CLUSTER}-control-plane`;

  /** Returns a simulation with a Ready AWSFargateProfile for the EKS cluster of a control plane that is not ready. */
  async function startBeforeControlPlane(spec: object = {}): Promise<SimulatedWorld> {
    const world = new SimulatedWorld();
    putStaticIdentity(world, goodKeys(world));
    world.setControlPlaneReady(false);
    world.start(ALLOW_MANAGED);
    apply(world, 'web', { eksCluster: MANAGED, ...spec });
    await world.ready('web');
    expect(world.controlPlaneFinalizers).to.deep.equal([]);
    return world;
  }

  /** After the AWSFargateProfile, the control plane becomes ready too, and the manager adds its finalizer to it. */
  async function startWithJoinedProfile(spec: object = {}): Promise<SimulatedWorld> {
    const world = await startBeforeControlPlane(spec);
    world.setControlPlaneReady(true);
    await world.until('it joins', () => world.controlPlaneFinalizers.length > 0);
    return world;
  }

  /** Expects that the deletion has changed nothing in AWS, and that it ends once the Cluster is resumed. */
  async function expectEndAfterPause(world: SimulatedWorld): Promise<void> {
    expect(world.aws.admin.profiles().map(({ status }) => status)).to.deep.equal(['ACTIVE']);
    world.patch('clusters', CLUSTER, { spec: { paused: false } });
    await world.gone('web');
    await world.finish();
  }

  it('is not refused if the control plane has an identity whose account cannot be learnt', async () => {
    const world = new SimulatedWorld();
    const identityRef = { kind: 'AWSClusterRoleIdentity', name: 'other' };
    world.patch(CONTROL_PLANE, controlPlaneName, { spec: { identityRef } });
    world.start(ALLOW_MANAGED);
    apply(world, 'web', { eksCluster: MANAGED });
    await world.ready('web');
    expect(world.controlPlaneFinalizers).to.deep.equal([]);
    await world.deleteAndFinish('web');
  });

  describe('with another identity than the control plane', () => {
    const OTHER_ACCOUNT = '210987654321';
    const identityRef = { kind: STATIC_IDENTITY, name: 'team-a' };
    const withIdentity = { eksCluster: { ...MANAGED, identityRef } };

    it('is refused if it is new and the account is that of the control plane', async () => {
      const world = new SimulatedWorld();
      putStaticIdentity(world, goodKeys(world));
      world.start(ALLOW_MANAGED);
      apply(world, 'web', withIdentity);
      await world.until('it is refused', () => world.condition('web', 'Stalled')?.reason === 'UseClusterName');
      expect(world.condition('web', 'Stalled')?.message).to.include(`spec.clusterName "${CLUSTER}"`);
      expect(callsToEksAndIam(world)).to.deep.equal([]);
      await world.deleteAndFinish('web');
    });

    it('is refused without a call to AWS if the operator does not allow the EKS cluster', async () => {
      const world = new SimulatedWorld();
      putStaticIdentity(world, goodKeys(world));
      world.start();
      apply(world, 'web', withIdentity);
      await world.until('it is refused', () => world.condition('web', 'Stalled')?.reason === 'NotAllowedByOperator');
      await world.clock.advance(30 * MINUTE);
      expect(world.aws.admin.calls()).to.deep.equal([]);
      await world.deleteAndFinish('web');
    });

    it('joins the teardown if the account is that of the control plane, also after a restart', async () => {
      const world = await startWithJoinedProfile(withIdentity);
      await world.stopAll();
      world.start(ALLOW_MANAGED);
      await world.clock.advance(MINUTE);
      expect(world.controlPlaneFinalizers).to.have.length(1);
      world.remove(CONTROL_PLANE, controlPlaneName);
      await world.gone('web');
      await world.until('the control plane goes', () => world.object(CONTROL_PLANE, controlPlaneName) === undefined);
      expect(world.aws.admin.profiles()).to.deep.equal([]);
      await world.finish();
    });

    it('keeps the control plane and joins its teardown although STS does not answer for a while after a restart', async () => {
      const world = await startWithJoinedProfile(withIdentity);
      await world.stopAll();
      const id = world.aws.admin.addFault({ operation: 'GetCallerIdentity', kind: '500-before' });
      world.start(ALLOW_MANAGED);
      await world.clock.advance(5 * MINUTE);
      expect(world.controlPlaneFinalizers).to.have.length(1);
      deleteHeld(world, CONTROL_PLANE, controlPlaneName);
      await world.clock.advance(5 * MINUTE);
      expect(world.controlPlaneFinalizers).to.have.length(2);
      const isTold = ({ reason, message }: KubeObject): boolean =>
        reason === 'WaitingForAWSFargateProfile' && String(message).includes('default/web, which may be in');
      expect(world.objects('events').some(isTold)).to.equal(true);
      world.aws.admin.removeFault({ id });
      await world.until('the deletion', () => world.profile('web') === undefined, 2 * MINUTE);
      await world.until('the end of the finalizer', () => world.controlPlaneFinalizers.length === 1, MINUTE);
      removeHeldFinalizers(world);
      await world.finish();
    });

    it('joins within two minutes after STS answers again', async () => {
      const world = await startBeforeControlPlane(withIdentity);
      const id = world.aws.admin.addFault({ operation: 'GetCallerIdentity', kind: '500-before' });
      world.setControlPlaneReady(true);
      await world.clock.advance(5 * MINUTE);
      expect(world.controlPlaneFinalizers).to.deep.equal([]);
      world.aws.admin.removeFault({ id });
      await world.until('it joins', () => world.controlPlaneFinalizers.length > 0, 2 * MINUTE);
      await world.deleteAndFinish('web');
    });

    it('survives the teardown of an EKS cluster of the same name in another account', async () => {
      const world = new SimulatedWorld();
      world.aws.admin.createCluster({ name: EKS_CLUSTER, account: OTHER_ACCOUNT });
      putStaticIdentity(world, goodKeys(world, OTHER_ACCOUNT));
      world.start(ALLOW_MANAGED.replace(ACCOUNT, OTHER_ACCOUNT));
      apply(world, 'web', withIdentity);
      await world.ready('web');
      expect(world.controlPlaneFinalizers).to.deep.equal([]);
      world.remove(CONTROL_PLANE, controlPlaneName);
      await world.clock.advance(10 * MINUTE);
      expect(world.isReady('web')).to.equal(true);
      expect(world.object(CONTROL_PLANE, controlPlaneName)).to.equal(undefined);
      await world.deleteAndFinish('web');
    });
  });

  it('joins the finalizer of the control plane and the teardown', async () => {
    const world = await startWithJoinedProfile();
    expect(world.isReady('web')).to.equal(true);
    world.remove(CONTROL_PLANE, controlPlaneName);
    await world.gone('web');
    await world.until('the control plane goes', () => world.object(CONTROL_PLANE, controlPlaneName) === undefined);
    expect(world.aws.admin.profiles()).to.deep.equal([]);
    await world.finish();
  });

  it('waits with the teardown while the Cluster is paused', async () => {
    const world = await startWithJoinedProfile();
    world.patch('clusters', CLUSTER, { spec: { paused: true } });
    world.remove(CONTROL_PLANE, controlPlaneName);
    await world.clock.advance(10 * MINUTE);
    expect(world.aws.admin.profiles()).to.have.length(1);
    expect(world.condition('web', 'Paused')?.status).to.equal('True');
    world.patch('clusters', CLUSTER, { spec: { paused: false } });
    await world.gone('web');
    await world.finish();
  });

  for (const [what, end] of [
    ['is paused', (world: SimulatedWorld) => world.patch('clusters', 'another', { spec: { paused: false } })],
    ['is paused and then removed', (world: SimulatedWorld) => world.remove('clusters', 'another')],
    [
      'is paused and then names another control plane',
      (world: SimulatedWorld) =>
        world.patch('clusters', 'another', { spec: { controlPlaneRef: { ...CONTROL_PLANE_REF, name: 'else' } } }),
    ],
  ] as const)
    it(`is not deleted by the teardown while another Cluster that names the control plane ${what}`, async () => {
      const world = await startWithJoinedProfile();
      const controlPlaneRef = CONTROL_PLANE_REF;
      world.create('clusters', { metadata: { name: 'another' }, spec: { controlPlaneRef, paused: true } });
      await world.clock.advance(MINUTE);
      world.remove(CONTROL_PLANE, controlPlaneName);
      await world.clock.advance(10 * MINUTE);
      expect(world.profile('web')?.metadata.deletionTimestamp).to.equal(undefined);
      end(world);
      await world.gone('web');
      await world.finish();
    });

  it('waits with its deletion while the Cluster is paused, although another CRD has dropped its eksCluster', async () => {
    const world = await startWithJoinedProfile();
    world.patch(PLURAL, 'web', { spec: { eksCluster: null } });
    await world.until('it is told', () => world.condition('web', 'Stalled')?.reason === 'ClusterNotNamed');
    world.patch('clusters', CLUSTER, { spec: { paused: true } });
    world.delete('web');
    await world.until('the pause', () => world.condition('web', 'Paused')?.status === 'True');
    await world.clock.advance(MINUTE);
    await expectEndAfterPause(world);
  });

  it('waits with its deletion while the Cluster is paused, although the caches do not show the pause yet', async () => {
    const world = await startWithJoinedProfile();
    world.changeUnseen(5 * MINUTE, () => world.patch('clusters', CLUSTER, { spec: { paused: true } }));
    world.delete('web');
    await world.clock.advance(4 * MINUTE);
    await expectEndAfterPause(world);
  });

  for (const [what, controlPlaneRef] of [
    ['the same control plane', CONTROL_PLANE_REF],
    ['a control plane of another kind with the same name', { ...CONTROL_PLANE_REF, kind: 'KubeadmControlPlane' }],
  ] as const)
    it(`waits with its deletion while the Cluster is paused, although another Cluster names ${what}`, async () => {
      const world = await startWithJoinedProfile();
      await world.stopAll();
      // After the restart, the API server lists this Cluster first.
      world.create('clusters', { metadata: { name: 'another' }, spec: { controlPlaneRef } });
      world.patch('clusters', CLUSTER, { spec: { paused: true } });
      world.start(ALLOW_MANAGED);
      world.delete('web');
      await world.until('the pause', () => world.condition('web', 'Paused')?.status === 'True');
      await world.clock.advance(10 * MINUTE);
      await expectEndAfterPause(world);
    });

  for (const plural of [CONTROL_PLANE, 'clusters'])
    it(`waits with its deletion while the API server answers 404 for ${plural} after a restart`, async () => {
      const world = await startWithJoinedProfile();
      await world.stopAll();
      world.patch('clusters', CLUSTER, { spec: { paused: true } });
      world.delete('web');
      world.api.intercept = ({ path }) =>
        new RegExp(`/${plural}(\\?|$)`).test(path) ? text(404, 'no backend') : undefined;
      world.start(ALLOW_MANAGED);
      await world.until('it waits', () => world.condition('web', 'Deleting')?.reason === 'WaitingForAPI');
      await world.clock.advance(MINUTE);
      acceptRequests(world);
      await world.until('the pause', () => world.condition('web', 'Paused')?.status === 'True');
      await expectEndAfterPause(world);
    });

  it('says that it blocks the teardown if it retains its profile', async () => {
    const world = await startWithJoinedProfile({ deletionPolicy: 'Retain' });
    world.remove(CONTROL_PLANE, controlPlaneName);
    await world.until('it is told', () => world.condition('web', 'Stalled')?.reason === 'RetainBlocksClusterDeletion');
    world.patch(PLURAL, 'web', { spec: { deletionPolicy: 'Delete' } });
    await world.gone('web');
    await world.finish();
  });

  describe('and shares its role with an object that names the Cluster', () => {
    const ROLE_OPERATION = /Role/;
    const settings: readonly (readonly [what: string, eksCluster: object, clusterName: object])[] = [
      ['a tag', { additionalTags: { stage: 'a' } }, { additionalTags: { stage: 'b' } }],
      ['a tag that one has from the control plane', { additionalTags: { team: 'a' } }, {}],
      ['the policies', { roleAdditionalPolicies: ['arn:aws:iam::aws:policy/ReadOnlyAccess'] }, {}],
    ];
    for (const [what, byEksCluster, byClusterName] of settings)
      for (const older of ['eks-cluster', 'cluster-name'] as const)
        it(`has a conflict about ${what} if ${older} is older: the object that does not serve pods yet reports it`, async () => {
          const world = new SimulatedWorld();
          world.patch(CONTROL_PLANE, controlPlaneName, { spec: { additionalTags: { team: 'platform' } } });
          world.setControlPlaneReady(false);
          world.start(ALLOW_MANAGED);
          const applyBy = {
            'eks-cluster': () =>
              apply(world, 'eks-cluster', { eksCluster: MANAGED, roleName: 'shared-pods', ...byEksCluster }),
            'cluster-name': () => world.applyWith('cluster-name', { roleName: 'shared-pods', ...byClusterName }),
          };
          const younger = older === 'eks-cluster' ? 'cluster-name' : 'eks-cluster';
          applyBy[older]();
          await world.clock.advance(MINUTE);
          applyBy[younger]();
          await world.ready('eks-cluster');
          world.setControlPlaneReady(true);
          const isRefused = (): boolean =>
            world.condition('cluster-name', 'Stalled')?.reason === 'RoleSettingsConflict';
          await world.until('the conflict', isRefused, 60 * MINUTE);
          const changesOfRole = () => world.mutations().filter(({ operation }) => ROLE_OPERATION.test(operation));
          const before = changesOfRole().length;
          await world.clock.advance(180 * MINUTE);
          expect(changesOfRole().slice(before)).to.deep.equal([]);
          world.delete('eks-cluster');
          await world.gone('eks-cluster');
          await world.ready('cluster-name');
          await world.deleteAndFinish('cluster-name');
        });
  });
});
