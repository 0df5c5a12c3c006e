import { expect } from 'chai';
import { STAND_IN_CRDS, applyCrds, loadCrds } from '../envtest/crds.ts';
import { eventually } from '../support/eventually.ts';
import { OWN_NAMESPACE, STATIC, createStaticIdentity, identity } from '../world/identities.ts';
import { messageOf } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { OUR_CRD, fargateProfile, startWorld } from '../world/world.ts';

/** Beside the manager's own. */
const OTHER = '210987654321';

describe('identities whose kinds are installed later', () => {
  let world: World;
  before(async () => {
    const crds = (await loadCrds(STAND_IN_CRDS)).filter(({ metadata }) => !metadata.name.startsWith('awscluster'));
    world = await startWorld({ crds: [...crds, OUR_CRD] });
    await world.createNamespace(OWN_NAMESPACE);
    await world.startManager();
  });
  after(() => world.finish());

  it('are waited for, and then go on by themselves', async () => {
    await world.createEksCluster('early', { account: OTHER, identityRef: { kind: STATIC, name: 'late' } });
    await world.apply(fargateProfile('early', { clusterName: 'early' }));
    const object = await world.condition('early', 'CredentialsReady', {
      status: 'False',
      reason: 'IdentityUnreadable',
    });
    expect(messageOf(object, 'CredentialsReady')).to.equal(
      'spec.identityRef of the control plane names AWSClusterStaticIdentity "late", which cannot be read: the API server ' +
        'does not serve awsclusterstaticidentities.infrastructure.cluster.x-k8s.io. It goes on by itself once that can be read.',
    );
    await applyCrds(world.controlPlane.api, STAND_IN_CRDS);
    await createStaticIdentity(world, 'late', OTHER);
    await world.ready('early', { timeoutMs: 45_000 });
  });

  it('stay what they were, and nothing is deleted, while their kinds are away', async () => {
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
    expect(world.inAws.profile('default_early')?.status).to.equal('ACTIVE');
    await applyCrds(world.controlPlane.api, STAND_IN_CRDS);
    await world.apply(identity(STATIC, 'late', { secretRef: 'late' }));
    await world.ready('early', { timeoutMs: 45_000 });
  });
});
