import { expect } from 'chai';
import { skipIfBinariesMissing } from '../envtest/skip.ts';
import { eventually } from '../support/eventually.ts';
import { pathOf } from '../world/world.ts';
import { type Flux, KUSTOMIZATION, startFlux } from './world/flux.ts';
import { type GitopsWorld, rolesOfProfiles, startGitopsWorld, waitUntilAtRest } from './world/gitops-world.ts';
import { type FolderObject, SAMPLE_PROFILES, sampleObjects, withTeam, withoutProfile } from './world/sample.ts';

/**
 * An object that stays in the folder of the Git repository when the test removes the cluster from the folder. Flux
 * refuses a folder without objects.
 */
const OTHER = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'other', namespace: 'default' },
  data: { of: 'another team' },
};
const FOLDER: readonly FolderObject[] = [...sampleObjects(), OTHER];

describe("the kustomize-controller of Flux, with this project's sample", () => {
  let gitops: GitopsWorld;
  let flux: Flux;
  const condition = async (type: string) =>
    (await flux.kustomization()).status?.conditions?.find((each) => each.type === type);

  before(async function () {
    gitops = await startGitopsWorld(this);
    flux = await startFlux(gitops.world).catch(skipIfBinariesMissing(this));
    await flux.applySample();
  });
  after(async () => {
    await flux.stop();
    await gitops.world.finish();
  });

  it('is Ready only after the profiles are', async () => {
    gitops.createEksCluster();
    gitops.setEndless(true);
    const revision = await flux.push(FOLDER);
    await gitops.actAsCapa();
    const { world } = gitops;
    await eventually(() => world.aws.admin.profiles().some(({ status }) => status === 'CREATING'));
    expect(await condition('Reconciling')).to.include({ status: 'True', reason: 'Progressing' });
    expect((await condition('Reconciling'))?.message).to.match(/^Running health checks for revision /);
    expect(await condition('Ready')).to.include({ status: 'Unknown' });
    gitops.setEndless(false);
    gitops.completeChanges();
    await flux.waitUntilReady(revision);
    for (const name of SAMPLE_PROFILES) expect(world.awsView.profile(`default_${name}`)?.status).to.equal('ACTIVE');
  });

  it('writes nothing when it applies the folder ten times more', async () => {
    await waitUntilAtRest(gitops);
    const before = await gitops.versions();
    for (let times = 0; times < 10; times += 1) await flux.reconcile();
    expect(await gitops.versions()).to.deep.equal(before);
  });

  it('corrects drift, not while it is suspended, and again when it is resumed', async () => {
    const { world } = gitops;
    const drift = async (): Promise<void> => {
      await world.patch('web', { spec: { additionalTags: { team: 'intruders' } } });
      await gitops.waitForTeam('web', 'intruders');
    };
    await drift();
    await flux.reconcile();
    await gitops.waitForTeam('web', 'web');

    await flux.suspend(true);
    await drift();
    const revision = await flux.push(withTeam(FOLDER, 'web', 'shop'));
    await gitops.waitForTeam('web', 'intruders');
    expect((await flux.kustomization()).status?.['lastAttemptedRevision']).to.not.equal(revision);
    await flux.suspend(false);
    await flux.waitUntilReady(revision);
    await gitops.waitForTeam('web', 'shop');
  });

  it('deletes profile and role of an object that is removed from the folder, and nothing else', async () => {
    const { world } = gitops;
    const before = await gitops.versions();
    await flux.push(withoutProfile(withTeam(FOLDER, 'web', 'shop'), 'system'));
    await world.gone('system');
    expect(await gitops.profiles()).to.deep.equal(['web']);
    expect(world.aws.admin.profiles().map(({ name }) => name)).to.deep.equal(['default_web']);
    expect(rolesOfProfiles(world)).to.have.length(1);
    const web = await world.controlPlane.api.get(pathOf('web', 'default'));
    expect(`${web.metadata.generation} ${web.metadata.resourceVersion}`).to.equal(before['AWSFargateProfile/web']);
  });

  it('deletes a cluster that is removed from the folder: profiles first, then the EKS cluster, then its objects', async () => {
    const { world, clusterApi, cluster } = gitops;
    await flux.waitUntilReady(await flux.push(FOLDER));
    const profilesLeft: number[] = [];
    const forget = world.aws.onCall(({ operation }, phase) => {
      if (phase === 'after' && operation === 'DeleteCluster') profilesLeft.push(world.aws.admin.profiles().length);
    });
    await flux.push([OTHER]);
    await gitops.expectAllGone();
    forget();
    expect(profilesLeft.at(-1)).to.equal(0);
    expect(clusterApi.capa.outcomesOf(`${cluster.name}-control-plane`).at(-1)).to.equal('deleted');
  });

  it('keeps a Kustomization that is deleted until the objects of its folder are gone', async () => {
    const { world, cluster } = gitops;
    const { api } = world.controlPlane;
    gitops.createEksCluster();
    const revision = await flux.push(FOLDER);
    await gitops.actAsCapa();
    await flux.waitUntilReady(revision);
    gitops.setEndless(true);
    await api.delete(KUSTOMIZATION);
    await eventually(() => world.aws.admin.profiles().some(({ status }) => status === 'DELETING'));
    expect((await flux.kustomization()).metadata.deletionTimestamp).to.be.a('string');
    expect(await api.exists(cluster.clusterPath)).to.equal(true);
    gitops.setEndless(false);
    gitops.completeChanges();
    await eventually(async () => !(await api.exists(KUSTOMIZATION)), { what: 'the deletion' });
    expect(await api.exists(cluster.clusterPath)).to.equal(false);
    await gitops.expectAllGone();
  });
});
