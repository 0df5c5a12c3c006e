import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import type { Ms } from 'controller-runtime/env';
import { FINALIZER, PLURAL, RECORD_ANNOTATION } from '../../api/v1beta2/index.ts';
import { EKS_POLICY } from '../world/aws/capa-resources.ts';
import { REAL_EKS, SimulatedWorld } from './world/simulated-world.ts';
import { ACCOUNT, EKS_CLUSTER, MINUTE, SECOND } from './world/cluster.ts';

const TEN = Array.from({ length: 10 }, (_, index) => `profile-${index}`);

/**
 * The AWS calls with which the manager changes AWS from the creation to the deletion of one AWSFargateProfile, in
 * order.
 */
const LIFE = [
  'CreateRole',
  'AttachRolePolicy',
  'CreateFargateProfile',
  'DeleteFargateProfile',
  'DetachRolePolicy',
  'DeleteAccessEntry',
  'DeleteRole',
];

/**
 * Measures the total times that EKS takes to create and to delete all Fargate profiles of the EKS cluster. EKS creates
 * and deletes them one after the other.
 */
function measureEksBusyTime({ aws }: SimulatedWorld): { readonly creating: Ms; readonly deleting: Ms } {
  const spent = { creating: 0, deleting: 0 };
  aws.onCall(({ operation, applied, identifiers }, phase) => {
    const isLifecycle = operation === 'CreateFargateProfile' || operation === 'DeleteFargateProfile';
    if (phase !== 'after' || !applied || !isLifecycle) return;
    const { state } = aws.model;
    const region = state.region(state.account(ACCOUNT, 'aws'), 'us-east-1');
    const now = aws.clock.now();
    const profile = state.cluster(region, EKS_CLUSTER, now)?.profiles.get(identifiers['fargateProfileName'] ?? '');
    spent[operation === 'CreateFargateProfile' ? 'creating' : 'deleting'] += (profile?.transition?.at ?? now) - now;
  });
  return spent;
}

describe('the manager in a simulation', () => {
  it('creates and deletes a profile, and leaves nothing in AWS', async () => {
    const world = new SimulatedWorld({ aws: { eks: REAL_EKS } });
    await world.startWithReady('a');
    expect(world.elapsed, 'EKS takes one to two minutes for a create').to.be.within(MINUTE, 2.4 * MINUTE);
    world.delete('a');
    await world.gone('a');
    expect(world.mutations().map(({ operation }) => operation)).to.deep.equal(LIFE);
    await world.finish();
    expect(world.problems()).to.deep.equal([]);
  });

  it('uses the names and role settings of the spec', async () => {
    const world = new SimulatedWorld();
    const [rolePermissionsBoundary, custom] = ['boundary', 'custom'].map((name) => world.aws.admin.putPolicy({ name }));
    const [subnet] = world.aws.admin.clusters().flatMap(({ subnets }) => subnets);
    await world.startWithReadyObject('a', {
      profileName: 'batch',
      roleName: 'batch-pods',
      rolePath: '/teams/batch/',
      rolePermissionsBoundary,
      roleAdditionalPolicies: [custom],
      subnetIDs: [subnet?.id],
      selectors: [{ namespace: 'batch-*', labels: { compute: 'fargate' } }],
    });
    const podExecutionRoleArn = `arn:aws:iam::${ACCOUNT}:role/teams/batch/batch-pods`;
    expect(world.eksProfile('a', 'batch')).to.deep.include({
      podExecutionRoleArn,
      subnets: [subnet?.id],
      selectors: [{ namespace: 'batch-*', labels: { compute: 'fargate' } }],
    });
    expect(world.role('a', 'batch-pods')).to.deep.include({
      arn: podExecutionRoleArn,
      permissionsBoundary: rolePermissionsBoundary,
      attachedPolicies: [EKS_POLICY, custom],
    });
    await world.deleteAndFinish('a');
  });

  it('handles ten profiles of a cluster in at most 1.1 times the time that EKS needs', async () => {
    const world = new SimulatedWorld({ seed: 2, aws: { eks: REAL_EKS } });
    const eks = measureEksBusyTime(world);
    await world.startWithReady(...TEN);
    const created = world.elapsed;
    expect(created, 'creating').to.be.within(eks.creating, 1.1 * eks.creating);
    world.delete(...TEN);
    await world.gone(...TEN);
    expect(world.elapsed - created, 'deleting').to.be.within(eks.deleting, 1.1 * eks.deleting);
    expect(world.mutations()).to.have.length(TEN.length * LIFE.length);
    await world.finish();
    expect(world.problems()).to.deep.equal([]);
  });

  // The manager puts the answer to each of its writes into its cache immediately, so it does not depend on the watch to
  // see this write.
  for (const watchLag of [0, 0.6 * SECOND, 2.5 * SECOND, 12 * SECOND])
    it(`reads its own writes when watches lag by ${watchLag} ms`, async () => {
      const world = new SimulatedWorld({ latency: 300, watchLag });
      await world.startWithReady('a', 'b');
      world.delete('a', 'b');
      await world.gone('a', 'b');
      for (const name of ['a', 'b'])
        expect(world.mutationsFor(name).map(({ operation }) => operation)).to.deep.equal(LIFE);
      await world.finish();
      expect(world.problems()).to.deep.equal([]);
    });
});

describe('an object that is deleted during its first reconcile', () => {
  /**
   * The moments in the first reconcile of an AWSFargateProfile at which the test deletes the object. Each moment is a
   * write of the manager, and its function returns true for the version of the object that this write creates. The test
   * deletes the object before the manager continues.
   */
  const moments: readonly (readonly [string, (object: KubeObject) => boolean])[] = [
    ['has its finalizer', ({ metadata }) => (metadata.finalizers ?? []).length > 0],
    [
      'has its location recorded',
      ({ metadata }) => metadata.annotations?.[RECORD_ANNOTATION]?.includes('"in":"nowhere"') === false,
    ],
    [
      'has the role recorded',
      ({ metadata }) => metadata.annotations?.[RECORD_ANNOTATION]?.includes('"roles":[{') === true,
    ],
  ];
  for (const [moment, isSo] of moments)
    it(`when it ${moment}: is gone within seconds and leaves nothing`, async () => {
      const world = new SimulatedWorld();
      let deletedAt: number | undefined;
      world.api.storage.listen(({ object }) => {
        const isHeld = (object.metadata.finalizers ?? []).length > 0;
        if (deletedAt !== undefined || object.metadata.name !== 'a' || !isHeld || !isSo(object)) return;
        deletedAt = world.elapsed;
        world.delete('a');
      });
      world.start();
      world.apply('a');
      await world.until('it is deleted', () => deletedAt !== undefined);
      await world.gone('a');
      expect(world.elapsed - (deletedAt ?? 0)).to.be.below(5 * SECOND);
      await world.finish();
    });
});

describe('an object that is being deleted and has the finalizer of another controller', () => {
  const HELD = 'test.example.com/held';
  const abandonedEvents = (world: SimulatedWorld): readonly unknown[] =>
    world
      .objects('events')
      .flatMap(({ type, reason, message }) =>
        reason === 'AbandonedEKSFargateProfile' ? `${String(type)} ${String(message)}` : [],
      );

  async function startHeld(spec: object = {}): Promise<SimulatedWorld> {
    const world = new SimulatedWorld();
    await world.startWithReadyObject('a', spec);
    world.patch(PLURAL, 'a', { metadata: { finalizers: [FINALIZER, HELD] } });
    return world;
  }

  async function finishHeld(world: SimulatedWorld): Promise<void> {
    world.patch(PLURAL, 'a', { metadata: { finalizers: null } });
    await world.gone('a');
    await world.finish();
  }

  it('has an event that names what stays in AWS, if another client removed the finalizer of this controller', async () => {
    const world = await startHeld();
    await world.stopAll();
    world.delete('a');
    world.patch(PLURAL, 'a', { metadata: { finalizers: [HELD] } });
    world.start();
    await world.until('the event', () => abandonedEvents(world).length > 0);
    expect(abandonedEvents(world)).to.deep.equal([
      'Warning This AWSFargateProfile is being deleted without this controller\'s finalizer, so the controller deletes nothing in AWS. Fargate profile "default_a" and its role stay in 123456789012/us-east-1/default_prod-control-plane (account/region/EKS cluster). If you do not need them, delete them in AWS.',
    ]);
    await world.clock.advance(30 * MINUTE);
    expect(world.aws.admin.profiles().map(({ status }) => status)).to.deep.equal(['ACTIVE']);
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'default_a' });
    world.aws.admin.removeRole({ name: 'prod-default_a_fargate' });
    await finishHeld(world);
  });

  for (const [what, spec] of [
    ['after the controller has deleted profile and role', {}],
    ['with deletionPolicy Retain', { deletionPolicy: 'Retain' }],
  ] as const)
    it(`has no such event ${what}`, async () => {
      const world = await startHeld(spec);
      if (what.startsWith('after')) {
        world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'default_a' });
        world.aws.admin.removeRole({ name: 'prod-default_a_fargate' });
      }
      world.delete('a');
      const isReleased = (): boolean => world.profile('a')?.metadata.finalizers?.includes(FINALIZER) === false;
      await world.until('the end of the deletion', isReleased);
      await world.stopAll();
      world.start();
      world.triggerReconcile('a');
      await world.clock.advance(30 * MINUTE);
      expect(abandonedEvents(world)).to.deep.equal([]);
      for (const { name } of world.aws.admin.profiles()) world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name });
      for (const { name } of world.aws.admin.roles()) world.aws.admin.removeRole({ name });
      await finishHeld(world);
    });
});
