import { expect } from 'chai';
import type { CustomResourceDefinition } from '../envtest/crds.ts';
import { STAND_IN_CRDS, applyCrds, loadCrds, onlyVersion } from '../envtest/crds.ts';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import { messageOf } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { OUR_CRD, clusterObject, clusterPath, controlPlanePath, fargateProfile, startWorld } from '../world/world.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const CLUSTERS = 'clusters.cluster.x-k8s.io';
const CONTROL_PLANES = 'awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io';
const OURS = 'awsfargateprofiles.infrastructure.cluster.x-k8s.io';
/** A kind that is not served is looked for ever less often, up to every half minute. */
const NOTICED = { timeoutMs: 60_000 };

describe('kinds that come, go and change their version while the manager runs', () => {
  let world: World;
  let crds: readonly CustomResourceDefinition[];
  before(async () => {
    crds = await loadCrds(STAND_IN_CRDS);
    world = await startWorld({ crds: [] });
  });
  after(() => world.finish());

  const crdOf = (name: string): CustomResourceDefinition => {
    const found = crds.find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`no CRD ${name}`);
    return found;
  };
  const install = (crd: CustomResourceDefinition | string): Promise<void> => applyCrds(world.controlPlane.api, crd);
  const remove = async (name: string): Promise<void> => {
    await world.controlPlane.api.delete(`${CRDS}/${name}`);
    await eventually(async () => !(await world.controlPlane.api.exists(`${CRDS}/${name}`)), { timeoutMs: 30_000 });
  };

  it('its own kind not installed yet: it is not ready, says why, and begins when that comes', async () => {
    const manager = await world.startManager({ waitUntilReady: false });
    await eventually(async () => {
      const { status, text } = await manager.readyz();
      expect(status).to.equal(500);
      expect(text).to.contain(OURS);
    });
    await install(OUR_CRD);
    await eventually(async () => expect((await manager.readyz()).status).to.equal(200), NOTICED);
  });

  it('Clusters not installed yet: profiles wait, and say for what', async () => {
    await world.apply(fargateProfile('web'));
    const waiting = await world.condition('web', 'Ready', { status: 'False', reason: 'WaitingForAPI' });
    expect(messageOf(waiting, 'Ready')).to.equal(
      'Cluster objects cannot be read: the API server does not serve clusters.cluster.x-k8s.io. It goes on by itself once they can.',
    );
    expect(waiting.metadata.finalizers).to.equal(undefined);
    await install(onlyVersion(crdOf(CLUSTERS), 'v1beta1'));
    await world.condition('web', 'Ready', { status: 'False', reason: 'WaitingForCluster' }, NOTICED);
    await world.apply(clusterObject('prod', 'default', 'v1beta1'));
  });

  it('control planes not installed yet: alike, and then it goes on by itself', async () => {
    const waiting = await world.condition('web', 'Ready', { status: 'False', reason: 'WaitingForAPI' });
    expect(messageOf(waiting, 'Ready')).to.equal(
      'AWSManagedControlPlane objects cannot be read: the API server does not serve awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io. It goes on by itself once they can.',
    );
    await install(crdOf(CONTROL_PLANES));
    await world.createEksCluster('prod', { version: 'v1beta1' });
    const { metadata } = await world.ready('web', NOTICED);
    expect(metadata.ownerReferences?.map(({ apiVersion }) => apiVersion)).to.deep.equal(['cluster.x-k8s.io/v1beta1']);
  });

  it('Cluster API upgraded to another version: the owner reference names that one, and nothing is changed in AWS', async () => {
    const calls = callsFromNow(world.aws);
    const upgraded = crdOf(CLUSTERS);
    const served = upgraded.spec.versions.map((version) => ({ ...version, served: version.name === 'v1beta2' }));
    await install({ ...upgraded, spec: { ...upgraded.spec, versions: served } });
    // The stand-in converts nothing: the object is written as Cluster API's own conversion would have it read.
    const { spec } = clusterObject('prod') as { spec: { controlPlaneRef: object } };
    const controlPlaneRef = { apiVersion: null, namespace: null, ...spec.controlPlaneRef };
    await world.controlPlane.api.patch(clusterPath('prod'), { spec: { controlPlaneRef } });
    await eventually(async () => {
      const apiVersions = (await world.profile('web'))?.metadata.ownerReferences?.map(({ apiVersion }) => apiVersion);
      expect(apiVersions).to.deep.equal(['cluster.x-k8s.io/v1beta2']);
    }, NOTICED);
    await world.ready('web');
    await world.patch('web', { spec: { additionalTags: { after: 'upgrade' } } });
    await eventually(() => world.inAws.profile('default_web')?.tags['after'] === 'upgrade');
    expect(new Set(calls.mutations().map(({ operation }) => operation))).to.deep.equal(
      new Set(['TagResource', 'TagRole']),
    );
  });

  it('Clusters removed, with all of them: nothing is deleted, not even what is being deleted, until they are back', async () => {
    await world.apply(fargateProfile('leaving'));
    await world.ready('leaving');
    const calls = callsFromNow(world.aws);
    await remove(CLUSTERS);
    await world.delete('leaving');
    const waiting = await world.condition('leaving', 'Deleting', { status: 'True', reason: 'WaitingForAPI' }, NOTICED);
    expect(messageOf(waiting, 'Deleting')).to.equal(
      'Cluster objects cannot be read: the API server does not serve clusters.cluster.x-k8s.io. It goes on by itself once they can.',
    );
    expect((await world.profile('web'))?.metadata.deletionTimestamp).to.equal(undefined);
    expect(calls.mutations()).to.deep.equal([]);

    await install(crdOf(CLUSTERS));
    await world.apply(clusterObject('prod'));
    await world.gone('leaving', NOTICED);
    const { metadata } = await world.ready('web', NOTICED);
    const { uid } = (await world.controlPlane.api.get(clusterPath('prod'))).metadata;
    expect(metadata.ownerReferences?.map((owner) => owner.uid)).to.deep.equal([uid]);
    expect(calls.about('default_web').filter(({ mutates }) => mutates)).to.deep.equal([]);
  });

  it('control planes not served at the start: what is there stays, what is deleted goes, from what status says', async () => {
    await world.apply(fargateProfile('leaving'));
    await world.ready('leaving');
    await world.stopManager();
    const { apiVersion, kind, metadata, spec } = await world.controlPlane.api.get(controlPlanePath('prod'));
    await world.controlPlane.api.patch(controlPlanePath('prod'), { metadata: { finalizers: null } });
    await remove(CONTROL_PLANES);
    const calls = callsFromNow(world.aws);
    await world.startManager({ flags: ['--sync-period', '1s'] });
    await world.delete('leaving');
    await world.gone('leaving');
    expect(calls.about('default_web').filter(({ mutates }) => mutates)).to.deep.equal([]);
    expect(world.inAws.profile('default_web')?.status).to.equal('ACTIVE');
    await world.apply(fargateProfile('late'));
    await world.condition('late', 'Ready', { status: 'False', reason: 'WaitingForAPI' });

    await install(crdOf(CONTROL_PLANES));
    const { name, namespace } = metadata;
    await world.apply({ apiVersion, kind, metadata: { name, namespace }, spec });
    await world.setControlPlaneReady('prod', true);
    await world.ready('late', NOTICED);
    await world.ready('web');
    expect(calls.about('default_web').filter(({ mutates }) => mutates)).to.deep.equal([]);
  });

  it('control planes removed, with all of them: nothing is deleted, and who comes waits', async () => {
    const pause = async (paused: boolean): Promise<void> =>
      void (await world.controlPlane.api.patch(clusterPath('prod'), { spec: { paused } }));
    const calls = callsFromNow(world.aws);
    // Paused, so that nobody puts the finalizer back that would keep the control plane.
    await pause(true);
    await world.condition('web', 'Paused', { status: 'True' });
    await world.controlPlane.api.patch(controlPlanePath('prod'), { metadata: { finalizers: null } });
    await remove(CONTROL_PLANES);
    await pause(false);
    await world.apply(fargateProfile('too-late'));
    await world.condition('too-late', 'Ready', { status: 'False', reason: 'WaitingForAPI' }, NOTICED);
    await world.condition('web', 'Paused', { status: 'False' });
    expect((await world.profile('web'))?.metadata.deletionTimestamp).to.equal(undefined);
    expect(calls.mutations()).to.deep.equal([]);
  });
});
