import { expect } from 'chai';
import { FINALIZER } from '../../api/v1beta2/index.ts';
import { WEB, patchWeb, startUntilReady } from './phases/phase.ts';
import { CLUSTER, SECOND } from './world/cluster.ts';
import { it } from './world/it.ts';

describe('owner reference, finalizer and label of an object', () => {
  it('are restored at once, without a change in AWS, after kubectl replace has dropped them', async (world) => {
    await startUntilReady(world);
    const { ownerReferences, labels } = world.profile(WEB)?.metadata ?? {};
    expect(ownerReferences?.map(({ kind, name }) => [kind, name])).to.deep.equal([['Cluster', CLUSTER]]);
    expect(labels).to.deep.equal({ 'cluster.x-k8s.io/cluster-name': CLUSTER });
    const { length } = world.mutations();
    patchWeb(world, { metadata: { ownerReferences: null, finalizers: null, labels: null } });
    await world.clock.advance(SECOND);
    expect(world.profile(WEB)?.metadata).to.deep.include({ ownerReferences, finalizers: [FINALIZER], labels });
    expect(world.operations(length)).to.deep.equal([]);
  });
});
