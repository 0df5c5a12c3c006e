import { expect } from 'chai';
import type { CrdManifest } from '../../envtest/clients/crds.ts';
import { STAND_IN_CRDS, applyCrds, loadCrds, withOnlyVersion } from '../../envtest/clients/crds.ts';
import { eventually } from '../../support/eventually.ts';
import { messageOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { OUR_CRD, clusterObject, clusterPath, fargateProfile, startWorld } from '../../world/world.ts';

const isCluster = (crd: CrdManifest): boolean => crd.metadata.name === 'clusters.cluster.x-k8s.io';

/**
 * The CRD of the kind Cluster after an upgrade of Cluster API: the API server serves v1beta2, and also v1beta1 if
 * `isOldServed` is true.
 */
const withServedVersions = (crd: CrdManifest, isOldServed: boolean): CrdManifest => ({
  ...crd,
  spec: {
    ...crd.spec,
    versions: crd.spec.versions.map((version) => ({
      ...version,
      served: version.name === 'v1beta2' || isOldServed,
    })),
  },
});

describe('a Cluster API that serves Clusters only in v1beta1', () => {
  let world: World;
  let clusterCrd: CrdManifest;
  before(async () => {
    const crds = await loadCrds(STAND_IN_CRDS);
    clusterCrd = crds.find(isCluster) ?? expect.fail('there is no CRD of Cluster');
    world = await startWorld({
      crds: [...crds.filter((crd) => !isCluster(crd)), withOnlyVersion(clusterCrd, 'v1beta1'), OUR_CRD],
    });
    await world.startManager();
    await world.createEksCluster('old', { version: 'v1beta1' });
  });
  after(() => world.finish());

  const ownerOf = async (name: string): Promise<unknown> => (await world.profile(name))?.metadata.ownerReferences;

  it('has profiles that become Ready, with an owner reference in v1beta1', async () => {
    await world.apply(fargateProfile('web', { clusterName: 'old' }));
    await world.ready('web');
    const { metadata } = await world.controlPlane.api.get(clusterPath('old', 'default', 'v1beta1'));
    expect(await ownerOf('web')).to.deep.equal([
      { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Cluster', name: 'old', uid: metadata.uid },
    ]);
  });

  it('can pause a profile', async () => {
    const pause = (paused: boolean): Promise<unknown> =>
      world.controlPlane.api.patch(clusterPath('old', 'default', 'v1beta1'), { spec: { paused } });
    await pause(true);
    const object = await world.condition('web', 'Paused', { status: 'True', reason: 'Paused' });
    expect(messageOf(object, 'Paused')).to.equal('Cluster spec.paused is set to true');
    await pause(false);
    await world.condition('web', 'Paused', { status: 'False' });
  });

  it('gives no profile to a Cluster that names the control plane of another namespace', async () => {
    await world.createNamespace('team-b');
    const { spec } = clusterObject('old', 'default', 'v1beta1') as { spec: object };
    await world.apply({ ...clusterObject('old', 'team-b', 'v1beta1'), spec });
    await world.apply(fargateProfile('guest', { clusterName: 'old' }, { namespace: 'team-b' }));
    const selector = { status: 'False', reason: 'ControlPlaneElsewhere' };
    const object = await world.condition('guest', 'Ready', selector, { namespace: 'team-b' });
    expect(messageOf(object, 'Ready')).to.equal(
      'spec.controlPlaneRef.namespace of Cluster team-b/old is "default", but the control plane of a Cluster must be in the namespace of the Cluster, "team-b". Remove spec.controlPlaneRef.namespace from the Cluster, or set it to "team-b". The controller then continues on its own.',
    );
    expect(world.aws.admin.profiles().map(({ name }) => name)).to.deep.equal(['default_web']);
    await world.delete('guest', 'team-b');
    await world.gone('guest', { namespace: 'team-b' });
  });

  it('can be upgraded to v1beta2 without v1beta1: the profile is reconciled, with its owner reference updated', async () => {
    await applyCrds(world.controlPlane.api, withServedVersions(clusterCrd, false));
    // The conversion webhook of Cluster API does not run in this test. So the test itself changes spec.controlPlaneRef
    // of the Cluster to its v1beta2 form.
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
      { what: 'the owner reference in v1beta2' },
    );
    await world.apply(fargateProfile('api', { clusterName: 'old' }));
    await world.ready('api');
  });
});
