import { expect } from 'chai';
import type { CrdManifest } from '../../envtest/clients/crds.ts';
import { STAND_IN_CRDS, applyCrds, loadCrds, withOnlyVersion } from '../../envtest/clients/crds.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { messageOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import {
  OUR_CRD,
  clusterObject,
  clusterPath,
  controlPlanePath,
  fargateProfile,
  startWorld,
} from '../../world/world.ts';
import { operationsOf } from '../../world/aws/operations.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const CLUSTERS = 'clusters.cluster.x-k8s.io';
const CONTROL_PLANES = 'awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io';
const PROFILES = 'awsfargateprofiles.infrastructure.cluster.x-k8s.io';

describe('CRDs that are installed, removed or changed while the manager runs', () => {
  let world: World;
  let crds: readonly CrdManifest[];
  before(async () => {
    crds = await loadCrds(STAND_IN_CRDS);
    world = await startWorld({ crds: [] });
  });
  after(() => world.finish());

  const crdOf = (name: string): CrdManifest => {
    const found = crds.find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`no CRD ${name}`);
    return found;
  };
  const install = (crd: CrdManifest | string): Promise<void> => applyCrds(world.controlPlane.api, crd);
  const remove = async (name: string): Promise<void> => {
    await world.controlPlane.api.delete(`${CRDS}/${name}`);
    await eventually(async () => !(await world.controlPlane.api.exists(`${CRDS}/${name}`)));
  };

  it('without AWSFargateProfiles, the manager is not ready, reports the kind, and becomes ready with the CRD', async () => {
    const manager = await world.startManager({ waitUntilReady: false });
    await eventually(async () => {
      const { status, text } = await manager.readyz();
      expect(status).to.equal(500);
      expect(text).to.contain(PROFILES);
    });
    await install(OUR_CRD);
    await eventually(async () => expect((await manager.readyz()).status).to.equal(200));
  });

  it('without Clusters, profiles wait and report that', async () => {
    await world.apply(fargateProfile('web'));
    const waiting = await world.condition('web', 'Ready', { status: 'False', reason: 'WaitingForAPI' });
    expect(messageOf(waiting, 'Ready')).to.equal(
      'The controller cannot read Cluster objects: the API server does not serve clusters.cluster.x-k8s.io. If this lasts for more than five minutes, check that the CRD of this kind is installed, and that the ServiceAccount of the manager may read objects of this kind. The controller retries on its own.',
    );
    expect(waiting.metadata.finalizers).to.equal(undefined);
    await install(withOnlyVersion(crdOf(CLUSTERS), 'v1beta1'));
    await world.condition('web', 'Ready', { status: 'False', reason: 'WaitingForCluster' });
    await world.apply(clusterObject('prod', 'default', 'v1beta1'));
  });

  it('without control planes, profiles wait and report that, and become Ready with the CRD', async () => {
    const waiting = await world.condition('web', 'Ready', { status: 'False', reason: 'WaitingForAPI' });
    expect(messageOf(waiting, 'Ready')).to.equal(
      'The controller cannot read AWSManagedControlPlane objects: the API server does not serve awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io. If this lasts for more than five minutes, check that the CRD of this kind is installed, and that the ServiceAccount of the manager may read objects of this kind. The controller retries on its own.',
    );
    await install(crdOf(CONTROL_PLANES));
    await world.createEksCluster('prod', { version: 'v1beta1' });
    const { metadata } = await world.ready('web');
    expect(metadata.ownerReferences?.map(({ apiVersion }) => apiVersion)).to.deep.equal(['cluster.x-k8s.io/v1beta1']);
  });

  it('with an upgraded Cluster API, the owner reference gets the new version, and only tags change in AWS', async () => {
    const calls = callsFromNow(world.aws);
    const upgraded = crdOf(CLUSTERS);
    const served = upgraded.spec.versions.map((version) => ({ ...version, served: version.name === 'v1beta2' }));
    await install({ ...upgraded, spec: { ...upgraded.spec, versions: served } });
    // The conversion webhook of Cluster API does not run in this test. So the test itself changes spec.controlPlaneRef
    // of the Cluster to its v1beta2 form.
    const { spec } = clusterObject('prod') as { spec: { controlPlaneRef: object } };
    const controlPlaneRef = { apiVersion: null, namespace: null, ...spec.controlPlaneRef };
    await world.controlPlane.api.patch(clusterPath('prod'), { spec: { controlPlaneRef } });
    await eventually(async () => {
      const apiVersions = (await world.profile('web'))?.metadata.ownerReferences?.map(({ apiVersion }) => apiVersion);
      expect(apiVersions).to.deep.equal(['cluster.x-k8s.io/v1beta2']);
    });
    await world.ready('web');
    await world.patch('web', { spec: { additionalTags: { after: 'upgrade' } } });
    await eventually(() => world.awsView.profile('default_web')?.tags['after'] === 'upgrade');
    expect(new Set(operationsOf(calls))).to.deep.equal(new Set(['TagResource', 'TagRole']));
  });

  it('with Clusters removed, nothing is deleted in AWS, not even for deleted objects, until they are back', async () => {
    await world.apply(fargateProfile('leaving'));
    await world.ready('leaving');
    const calls = callsFromNow(world.aws);
    await remove(CLUSTERS);
    await world.delete('leaving');
    const waiting = await world.condition('leaving', 'Deleting', { status: 'True', reason: 'WaitingForAPI' });
    expect(messageOf(waiting, 'Deleting')).to.equal(
      'The controller cannot read Cluster objects: the API server does not serve clusters.cluster.x-k8s.io. If this lasts for more than five minutes, check that the CRD of this kind is installed, and that the ServiceAccount of the manager may read objects of this kind. The controller retries on its own.',
    );
    expect((await world.profile('web'))?.metadata.deletionTimestamp).to.equal(undefined);
    expect(calls.mutations()).to.deep.equal([]);

    await install(crdOf(CLUSTERS));
    await world.apply(clusterObject('prod'));
    await world.gone('leaving');
    const { metadata } = await world.ready('web');
    const { uid } = (await world.controlPlane.api.get(clusterPath('prod'))).metadata;
    expect(metadata.ownerReferences?.map((owner) => owner.uid)).to.deep.equal([uid]);
    expect(calls.about('default_web').filter(({ mutates }) => mutates)).to.deep.equal([]);
  });

  it('without control planes at the start, deletions use the status, and other profiles stay', async () => {
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
    expect(world.awsView.profile('default_web')?.status).to.equal('ACTIVE');
    await world.apply(fargateProfile('late'));
    await world.condition('late', 'Ready', { status: 'False', reason: 'WaitingForAPI' });

    await install(crdOf(CONTROL_PLANES));
    const { name, namespace } = metadata;
    await world.apply({ apiVersion, kind, metadata: { name, namespace }, spec });
    await world.setControlPlaneReady('prod', true);
    await world.ready('late');
    await world.ready('web');
    expect(calls.about('default_web').filter(({ mutates }) => mutates)).to.deep.equal([]);
  });

  it('with control planes removed, nothing is deleted and new profiles wait', async () => {
    const pause = async (paused: boolean): Promise<void> =>
      void (await world.controlPlane.api.patch(clusterPath('prod'), { spec: { paused } }));
    const calls = callsFromNow(world.aws);
    // While the Cluster is paused, the controller does not restore the finalizer that the test removes from the
    // AWSManagedControlPlane.
    await pause(true);
    await world.condition('web', 'Paused', { status: 'True' });
    await world.controlPlane.api.patch(controlPlanePath('prod'), { metadata: { finalizers: null } });
    await remove(CONTROL_PLANES);
    await pause(false);
    await world.apply(fargateProfile('too-late'));
    await world.condition('too-late', 'Ready', { status: 'False', reason: 'WaitingForAPI' });
    await world.condition('web', 'Paused', { status: 'False' });
    expect((await world.profile('web'))?.metadata.deletionTimestamp).to.equal(undefined);
    expect(calls.mutations()).to.deep.equal([]);
  });
});
