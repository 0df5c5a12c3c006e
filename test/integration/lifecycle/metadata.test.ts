import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { waitForCacheSync } from '../../world/cache-sync.ts';
import type { World } from '../../world/world.ts';
import { clusterPath, controlPlanePath, fargateProfile, startWorld } from '../../world/world.ts';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const LABEL = 'cluster.x-k8s.io/cluster-name';

describe('owner reference, finalizer and label of an AWSFargateProfile', () => {
  let world: World;
  let owner: object;
  before(async () => {
    world = await startWorld();
    await world.startManager();
    await world.createEksCluster('prod');
    const { metadata } = await world.controlPlane.api.get(clusterPath('prod'));
    owner = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', name: 'prod', uid: metadata.uid };
    await world.apply(fargateProfile('web'));
    await world.ready('web');
  });
  after(() => world.finish());

  // After a failed test, the Cluster and the AWSFargateProfile may still be paused. This hook unpauses them, so that
  // the next tests do not fail too.
  afterEach(async () => {
    await world.controlPlane.api.patch(clusterPath('prod'), { spec: { paused: null } });
    await world.patch('web', { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
  });

  const metadataOf = async (name: string): Promise<RawObject['metadata']> =>
    ((await world.profile(name)) as RawObject).metadata;

  /**
   * Waits until the controller has restored the owner reference, the finalizer and the label of the AWSFargateProfile.
   */
  async function expectRestored(name = 'web'): Promise<void> {
    await eventually(async () => {
      const { ownerReferences, finalizers, labels } = await metadataOf(name);
      expect({ ownerReferences, finalizers, label: labels?.[LABEL] }).to.deep.equal({
        ownerReferences: [owner],
        finalizers: [FINALIZER],
        label: 'prod',
      });
    });
  }

  for (const { what, patch } of [
    { what: 'the owner reference', patch: { ownerReferences: null } },
    { what: 'the finalizer', patch: { finalizers: null } },
    { what: 'the label', patch: { labels: { [LABEL]: null } } },
    { what: 'a label that was changed', patch: { labels: { [LABEL]: 'other' } } },
    { what: 'all at once', patch: { ownerReferences: null, finalizers: null, labels: null } },
  ])
    it(`is restored: ${what}`, async () => {
      const calls = callsFromNow(world.aws);
      await world.patch('web', { metadata: patch });
      await expectRestored();
      expect(calls.mutations()).to.deep.equal([]);
    });

  it('is restored after kubectl replace with the manifest from Git', async () => {
    const calls = callsFromNow(world.aws);
    const { code, stderr } = await world.kubectl(['replace', '-f', '-'], JSON.stringify(fargateProfile('web')));
    expect(code, stderr).to.equal(0);
    await expectRestored();
    expect(calls.mutations()).to.deep.equal([]);
  });

  it('is restored after a pause, not during the pause, as in the Cluster API test suite', async () => {
    const pause = async (paused: boolean): Promise<void> =>
      void (await world.controlPlane.api.patch(clusterPath('prod'), { spec: { paused } }));
    const calls = callsFromNow(world.aws);
    await pause(true);
    await world.condition('web', 'Paused', { status: 'True' });
    await world.patch('web', { metadata: { ownerReferences: null, finalizers: null, labels: null } });
    // The new annotation changes the message of the Paused condition. The new message shows that the controller has
    // also seen the earlier patch, which removed the metadata.
    await world.patch('web', { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } });
    await eventually(async () => {
      const paused = (await world.profile('web'))?.status?.conditions?.find(({ type }) => type === 'Paused');
      expect(paused?.message).to.contain('annotation');
    });
    expect(await metadataOf('web')).not.to.have.any.keys('ownerReferences', 'finalizers', 'labels');
    await world.patch('web', { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
    await pause(false);
    await expectRestored();
    expect(calls.mutations()).to.deep.equal([]);
  });

  for (const { what, stale } of [
    { what: 'the apiVersion of an older Cluster API', stale: { apiVersion: 'cluster.x-k8s.io/v1alpha4' } },
    {
      what: 'the uid of a Cluster that was created again since',
      stale: { uid: '00000000-0000-4000-8000-000000000000' },
    },
  ])
    it(`updates an owner reference with ${what}`, async () => {
      await world.patch('web', { metadata: { ownerReferences: [{ ...owner, ...stale }] } });
      await expectRestored();
    });

  it('preserves other references, finalizers, labels and the blockOwnerDeletion of its own reference', async () => {
    const other = {
      apiVersion: 'example.org/v1',
      kind: 'Team',
      name: 'shop',
      uid: '00000000-0000-4000-8000-000000000001',
    };
    const blocking = { ...owner, blockOwnerDeletion: true };
    await world.patch('web', {
      metadata: {
        ownerReferences: [other, { ...blocking, apiVersion: 'cluster.x-k8s.io/v1beta1' }],
        finalizers: ['example.org/team', FINALIZER],
        labels: { team: 'shop', [LABEL]: null },
      },
    });
    await eventually(async () => {
      const { ownerReferences, finalizers, labels } = await metadataOf('web');
      expect(ownerReferences).to.deep.equal([other, blocking]);
      expect(finalizers).to.deep.equal(['example.org/team', FINALIZER]);
      expect(labels).to.deep.equal({ team: 'shop', [LABEL]: 'prod' });
    });
    await world.patch('web', {
      metadata: { ownerReferences: [owner], finalizers: [FINALIZER], labels: { team: null } },
    });
    await expectRestored();
  });

  describe('of an object that Argo CD tracks', () => {
    for (const { how, metadata } of [
      { how: 'by annotation', metadata: { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:infrastructure…' } } },
      { how: 'by its own label', metadata: { labels: { 'argocd.argoproj.io/instance': 'shop' } } },
      { how: 'by the default label', metadata: { labels: { 'app.kubernetes.io/instance': 'shop' } } },
    ])
      it(`has no owner reference, because Argo CD does not prune owned objects: ${how}`, async () => {
        const name = `argo-${how.split(' ').slice(1).join('-')}`;
        await world.apply(fargateProfile(name, {}, metadata));
        const { metadata: found } = await world.ready(name);
        expect(found.ownerReferences).to.equal(undefined);
        expect(found.finalizers).to.deep.equal([FINALIZER]);
        expect(found.labels?.[LABEL]).to.equal('prod');
        await world.delete(name);
        await world.gone(name);
      });

    it('loses its owner reference when Argo CD starts to track it, and regains it afterwards', async () => {
      await world.patch('web', { metadata: { annotations: { 'argocd.argoproj.io/tracking-id': 'x' } } });
      await eventually(async () => expect((await metadataOf('web')).ownerReferences).to.equal(undefined));
      await world.patch('web', { metadata: { annotations: { 'argocd.argoproj.io/tracking-id': null } } });
      await expectRestored();
    });
  });

  it('the owner reference is not restored while the Cluster is being deleted, because the garbage collector removes it', async () => {
    await world.createEksCluster('ending');
    await world.apply(fargateProfile('ending', { clusterName: 'ending' }));
    await world.ready('ending');
    await world.controlPlane.api.patch(clusterPath('ending'), { metadata: { finalizers: ['test.example/held'] } });
    await world.controlPlane.api.delete(clusterPath('ending'));
    await waitForCacheSync(world);
    await world.patch('ending', { metadata: { ownerReferences: null, labels: { [LABEL]: null } } });
    // The controller restores the label and the owner reference in the same write. So when the label is back without
    // the owner reference, the controller has decided not to restore the owner reference.
    await eventually(async () => expect((await metadataOf('ending')).labels?.[LABEL]).to.equal('ending'));
    expect((await metadataOf('ending')).ownerReferences).to.equal(undefined);
    // The AWSFargateProfile is deleted before its Cluster. If the Cluster were missing, the deletion would wait 30 s,
    // because `clusterctl move` may be moving the Cluster.
    await world.delete('ending');
    await world.gone('ending');
    await world.controlPlane.api.patch(clusterPath('ending'), { metadata: { finalizers: null } });
  });

  it('no resourceVersion changes during resyncs without a change', async () => {
    await world.apply(...['quiet-1', 'quiet-2'].map((name) => fargateProfile(name)));
    await Promise.all(['quiet-1', 'quiet-2'].map((name) => world.ready(name)));
    await world.stopManager();
    await world.startManager({ flags: ['--sync-period', '300ms'] });
    const versions = async (): Promise<readonly string[]> => {
      const objects = await Promise.all(
        [clusterPath('prod'), controlPlanePath('prod')].map((path) => world.controlPlane.api.get(path)),
      );
      return [...(await world.profiles()), ...objects].map(
        ({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`,
      );
    };
    const before = await versions();
    const calls = callsFromNow(world.aws);
    const looksAt = (name: string): number =>
      calls.about(name).filter(({ operation }) => operation === 'DescribeFargateProfile').length;
    await eventually(() => ['default_web', 'default_quiet-1', 'default_quiet-2'].every((name) => looksAt(name) >= 10));
    expect(await versions()).to.deep.equal(before);
    expect(calls.mutations()).to.deep.equal([]);
  });
});
