import { expect } from 'chai';
import { fieldAt } from '../../api/record.ts';
import { PROVISIONED_IN_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { stopwatch } from './stopwatch.ts';
import { EKS_CLUSTER, KernelWorld, MINUTE, SECOND } from './world.ts';

const TEN = Array.from({ length: 10 }, (_, index) => `profile-${index}`);

/** What one life of an object changes in AWS, in this order, and nothing else. */
const LIFE = [
  'CreateRole',
  'AttachRolePolicy',
  'CreateFargateProfile',
  'DeleteFargateProfile',
  'DetachRolePolicy',
  'DeleteRole',
];

describe('the whole manager under a virtual clock', () => {
  it('carries one profile from apply to Ready to gone, and leaves nothing', async () => {
    const world = new KernelWorld();
    world.start();
    world.apply('a');
    await world.ready('a');
    expect(world.elapsed, 'EKS takes one to two minutes for a create').to.be.within(MINUTE, 2.4 * MINUTE);
    world.delete('a');
    await world.gone('a');
    expect(world.mutations().map(({ operation }) => operation)).to.deep.equal(LIFE);
    await world.finish();
    expect(world.troubles()).to.deep.equal([]);
  });

  it('carries ten profiles of a cluster through in a tenth more than the time that EKS needs for them', async () => {
    const world = new KernelWorld({ seed: 2 });
    const eks = stopwatch(world.aws, EKS_CLUSTER);
    world.start();
    world.apply(...TEN);
    await world.ready(...TEN);
    const created = world.elapsed;
    expect(created, 'creating').to.be.within(eks.creating, 1.1 * eks.creating);
    world.delete(...TEN);
    await world.gone(...TEN);
    expect(world.elapsed - created, 'deleting').to.be.within(eks.deleting, 1.1 * eks.deleting);
    expect(world.mutations()).to.have.length(TEN.length * LIFE.length);
    await world.finish();
    expect(world.troubles()).to.deep.equal([]);
  });

  // The last lag is longer than the manager waits for the watch before it asks.
  for (const watchLag of [0, 0.6 * SECOND, 2.5 * SECOND, 12 * SECOND])
    it(`reads its own writes, which the API server shows ${watchLag} ms later`, async () => {
      const world = new KernelWorld({ latency: 300, watchLag });
      world.start();
      world.apply('a', 'b');
      await world.ready('a', 'b');
      world.delete('a', 'b');
      await world.gone('a', 'b');
      for (const name of ['a', 'b'])
        expect(world.mutationsFor(name).map(({ operation }) => operation)).to.deep.equal(LIFE);
      await world.finish();
      expect(world.troubles()).to.deep.equal([]);
    });
});

describe('an object that is deleted in the midst of its very first pass', () => {
  /** Its first version that is so: then it is deleted, before the pass has gone on. */
  const moments: readonly (readonly [string, (object: KubeObject) => boolean])[] = [
    ['has its finalizer', ({ metadata }) => (metadata.finalizers ?? []).length > 0],
    ['says where it is', ({ metadata }) => metadata.annotations?.[PROVISIONED_IN_ANNOTATION] !== 'nowhere'],
    ['says which role is made', ({ status }) => fieldAt(status, 'role') !== undefined],
  ];
  for (const [moment, isSo] of moments)
    it(`when it ${moment}: is gone at once, and nothing is left`, async () => {
      const world = new KernelWorld();
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
