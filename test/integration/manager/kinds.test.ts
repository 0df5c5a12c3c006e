import { expect } from 'chai';
import { type CrdManifest, STAND_IN_CRDS, applyCrds, loadCrds, withOnlyVersion } from '../../envtest/clients/crds.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { messageOf } from '../../world/object-state.ts';
import { type World, OUR_CRD, clusterObject, clusterPath, fargateProfile, startWorld } from '../../world/world.ts';
import { operationsOf } from '../../world/aws/operations.ts';

const CLUSTERS = 'clusters.cluster.x-k8s.io';
const CLUSTERS_PATH = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${CLUSTERS}`;

const isCluster = ({ metadata }: CrdManifest): boolean => metadata.name === CLUSTERS;

describe('the CRD of Clusters, changed while the manager runs', () => {
  let world: World;
  let clusterCrd: CrdManifest;
  before(async () => {
    const crds = await loadCrds(STAND_IN_CRDS);
    clusterCrd = crds.find(isCluster) ?? expect.fail('there is no CRD of Cluster');
    const others = crds.filter((crd) => !isCluster(crd));
    world = await startWorld({ crds: [...others, withOnlyVersion(clusterCrd, 'v1beta1'), OUR_CRD] });
    await world.startManager();
    await world.createEksCluster('prod', { version: 'v1beta1' });
    await world.apply(fargateProfile('web'), fargateProfile('leaving'));
    await Promise.all([world.ready('web'), world.ready('leaving')]);
  });
  after(() => world.finish());

  const ownersOf = async (name: string) => (await world.profile(name))?.metadata.ownerReferences;

  it('gives an owner reference in v1beta2 after an upgrade of Cluster API, and only tags change in AWS', async () => {
    const calls = callsFromNow(world.aws);
    const versions = clusterCrd.spec.versions.map((version) => ({ ...version, served: version.name === 'v1beta2' }));
    await applyCrds(world.controlPlane.api, { ...clusterCrd, spec: { ...clusterCrd.spec, versions } });
    // The conversion webhook of Cluster API does not run in this test. So the test itself changes spec.controlPlaneRef
    // of the Cluster to its v1beta2 form.
    const { spec } = clusterObject('prod') as { spec: { controlPlaneRef: object } };
    const controlPlaneRef = { apiVersion: null, namespace: null, ...spec.controlPlaneRef };
    await world.controlPlane.api.patch(clusterPath('prod'), { spec: { controlPlaneRef } });
    await eventually(async () => {
      const apiVersions = (await ownersOf('web'))?.map(({ apiVersion }) => apiVersion);
      expect(apiVersions).to.deep.equal(['cluster.x-k8s.io/v1beta2']);
    });
    await world.patch('web', { spec: { additionalTags: { after: 'upgrade' } } });
    await eventually(() => world.awsView.profile('default_web')?.tags['after'] === 'upgrade');
    expect(new Set(operationsOf(calls))).to.deep.equal(new Set(['TagResource', 'TagRole']));
  });

  it('deletes nothing in AWS when it is removed, not even for deleted objects, until it is back', async () => {
    const calls = callsFromNow(world.aws);
    await world.controlPlane.api.delete(CLUSTERS_PATH);
    await eventually(async () => !(await world.controlPlane.api.exists(CLUSTERS_PATH)));
    await world.delete('leaving');
    const waiting = await world.condition('leaving', 'Deleting', { status: 'True', reason: 'WaitingForAPI' });
    expect(messageOf(waiting, 'Deleting')).to.contain(`the API server does not serve ${CLUSTERS}. `);
    expect((await world.profile('web'))?.metadata.deletionTimestamp).to.equal(undefined);
    expect(calls.mutations()).to.deep.equal([]);

    await applyCrds(world.controlPlane.api, clusterCrd);
    await world.apply(clusterObject('prod'));
    await world.gone('leaving');
    await world.ready('web');
    const { uid } = (await world.controlPlane.api.get(clusterPath('prod'))).metadata;
    expect((await ownersOf('web'))?.map((owner) => owner.uid)).to.deep.equal([uid]);
    expect(calls.about('default_web').filter(({ mutates }) => mutates)).to.deep.equal([]);
  });
});
