import { expect } from 'chai';
import type { CustomResourceDefinition } from '../envtest/crds.ts';
import { STAND_IN_CRDS, applyCrds, loadCrds, onlyVersion } from '../envtest/crds.ts';
import { eventually } from '../support/eventually.ts';
import { messageOf } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { OUR_CRD, clusterPath, fargateProfile, startWorld } from '../world/world.ts';

const isCluster = (crd: CustomResourceDefinition): boolean => crd.metadata.name === 'clusters.cluster.x-k8s.io';

/** As a server has it after an upgrade of Cluster API: the former version is known, and served or not. */
const serving = (crd: CustomResourceDefinition, isOldServed: boolean): CustomResourceDefinition => ({
  ...crd,
  spec: {
    ...crd.spec,
    versions: crd.spec.versions.map((version) => ({
      ...version,
      served: version.name === 'v1beta2' || isOldServed,
    })),
  },
});

describe('a Cluster API that serves Clusters in v1beta1 alone', () => {
  let world: World;
  let clusterCrd: CustomResourceDefinition;
  before(async () => {
    const crds = await loadCrds(STAND_IN_CRDS);
    clusterCrd = crds.find(isCluster) ?? expect.fail('there is no CRD of Cluster');
    world = await startWorld({
      crds: [...crds.filter((crd) => !isCluster(crd)), onlyVersion(clusterCrd, 'v1beta1'), OUR_CRD],
    });
    await world.startManager();
    await world.createEksCluster('old', { version: 'v1beta1' });
  });
  after(() => world.finish());

  const ownerOf = async (name: string): Promise<unknown> => (await world.profile(name))?.metadata.ownerReferences;

  it('does as well: the profile becomes Ready, and names its owner in that version', async () => {
    await world.apply(fargateProfile('web', { clusterName: 'old' }));
    await world.ready('web');
    const { metadata } = await world.controlPlane.api.get(clusterPath('old', 'default', 'v1beta1'));
    expect(await ownerOf('web')).to.deep.equal([
      { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Cluster', name: 'old', uid: metadata.uid },
    ]);
  });

  it('pauses it', async () => {
    const pause = (paused: boolean): Promise<unknown> =>
      world.controlPlane.api.patch(clusterPath('old', 'default', 'v1beta1'), { spec: { paused } });
    await pause(true);
    const object = await world.condition('web', 'Paused', { status: 'True', reason: 'Paused' });
    expect(messageOf(object, 'Paused')).to.equal('Cluster spec.paused is set to true');
    await pause(false);
    await world.condition('web', 'Paused', { status: 'False' });
  });

  it('and is upgraded to v1beta2, with v1beta1 no longer served: goes on, with the owner named anew', async () => {
    await applyCrds(world.controlPlane.api, serving(clusterCrd, false));
    // Nothing converts in this world, so the reference to the control plane takes its new form by hand.
    const { metadata } = await world.controlPlane.api.patch(clusterPath('old'), {
      spec: {
        controlPlaneRef: {
          apiGroup: 'controlplane.cluster.x-k8s.io',
          kind: 'AWSManagedControlPlane',
          name: 'old-control-plane',
          apiVersion: null,
          namespace: null,
        },
      },
    });
    await eventually(
      async () => {
        expect(await ownerOf('web')).to.deep.equal([
          { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', name: 'old', uid: metadata.uid },
        ]);
      },
      { what: 'the owner reference in v1beta2', timeoutMs: 40_000 },
    );
    await world.apply(fargateProfile('api', { clusterName: 'old' }));
    await world.ready('api');
  });
});
