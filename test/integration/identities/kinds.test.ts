import { expect } from 'chai';
import { STAND_IN_CRDS, applyCrds, loadCrds } from '../../envtest/clients/crds.ts';
import { eventually } from '../../support/eventually.ts';
import { STATIC_IDENTITY, createStaticIdentity, identity } from '../../world/aws/identities.ts';
import { messageOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { OUR_CRD, fargateProfile, startWorld } from '../../world/world.ts';

/** An AWS account other than the account of the manager. */
const OTHER = '210987654321';

describe('identities whose CRDs are installed later', () => {
  let world: World;
  before(async () => {
    const crds = (await loadCrds(STAND_IN_CRDS)).filter(({ metadata }) => !metadata.name.startsWith('awscluster'));
    world = await startWorld({ crds: [...crds, OUR_CRD] });
    await world.startManager();
  });
  after(() => world.finish());

  it('are reported until their CRDs are installed, then used without a restart', async () => {
    await world.createEksCluster('early', { account: OTHER, identityRef: { kind: STATIC_IDENTITY, name: 'late' } });
    await world.apply(fargateProfile('early', { clusterName: 'early' }));
    const object = await world.condition('early', 'CredentialsReady', {
      status: 'False',
      reason: 'IdentityUnreadable',
    });
    expect(messageOf(object, 'CredentialsReady')).to.equal(
      'spec.identityRef of the control plane names AWSClusterStaticIdentity "late", which the controller cannot read: the API server ' +
        'does not serve awsclusterstaticidentities.infrastructure.cluster.x-k8s.io. If this lasts for more than five minutes, check that the ServiceAccount of the manager may read this object and, if it is an identity, that the CRD of its kind is installed. The controller retries on its own.',
    );
    await applyCrds(world.controlPlane.api, STAND_IN_CRDS);
    await createStaticIdentity(world, 'late', OTHER);
    await world.ready('early');
  });

  it('are reported while their CRDs are missing, and nothing is deleted in AWS', async () => {
    const crd =
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/awsclusterstaticidentities.infrastructure.cluster.x-k8s.io';
    await world.controlPlane.api.delete(crd);
    await eventually(async () => !(await world.controlPlane.api.exists(crd)));
    await world.patch('early', { metadata: { annotations: { look: 'again' } } });
    await world.condition('early', 'CredentialsReady', { status: 'False' });
    const { status } = (await world.profile('early')) ?? {};
    expect(status?.conditions?.find(({ type }) => type === 'CredentialsReady')?.reason).to.be.oneOf([
      'IdentityUnreadable',
      'IdentityNotFound',
    ]);
    expect(world.awsView.profile('default_early')?.status).to.equal('ACTIVE');
    await applyCrds(world.controlPlane.api, STAND_IN_CRDS);
    await world.apply(identity(STATIC_IDENTITY, 'late', { secretRef: 'late' }));
    await world.ready('early');
  });
});
