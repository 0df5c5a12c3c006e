import { expect } from 'chai';
import { FINALIZER } from '../../api/v1beta2/index.ts';
import { WEB, patchWeb, startUntilReady } from './phases/phase.ts';
import { CLUSTER, SECOND } from './world/cluster.ts';
import { it } from './world/it.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';

const LABEL = 'cluster.x-k8s.io/cluster-name';

const ownerOf = (world: SimulatedWorld): object => ({
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  name: CLUSTER,
  uid: world.object('clusters', CLUSTER)?.metadata.uid,
});

const metadataOf = (world: SimulatedWorld) => {
  const { ownerReferences = [], finalizers = [], labels = {} } = world.profile(WEB)?.metadata ?? {};
  return { ownerReferences, finalizers, label: labels[LABEL] };
};

describe('owner reference, finalizer and label of an object', () => {
  const changes: readonly (readonly [string, (owner: object) => object])[] = [
    ['without owner reference', () => ({ ownerReferences: null })],
    ['without finalizer', () => ({ finalizers: null })],
    ['with another label', () => ({ labels: { [LABEL]: 'other' } })],
    [
      'without any of them, as after kubectl replace',
      () => ({ ownerReferences: null, finalizers: null, labels: null }),
    ],
    [
      'with an owner reference of an older Cluster API',
      (owner) => ({ ownerReferences: [{ ...owner, apiVersion: 'cluster.x-k8s.io/v1alpha4' }] }),
    ],
    [
      'with the uid of a Cluster that was created again since',
      (owner) => ({ ownerReferences: [{ ...owner, uid: '00000000-0000-4000-8000-000000000000' }] }),
    ],
  ];
  for (const [what, change] of changes)
    it(`are restored at once, without a change in AWS: ${what}`, async (world) => {
      await startUntilReady(world);
      const { length } = world.mutations();
      patchWeb(world, { metadata: change(ownerOf(world)) });
      await world.clock.advance(SECOND);
      expect(metadataOf(world)).to.deep.equal({
        ownerReferences: [ownerOf(world)],
        finalizers: [FINALIZER],
        label: CLUSTER,
      });
      expect(world.operations(length)).to.deep.equal([]);
    });
});
