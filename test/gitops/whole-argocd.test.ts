import { expect } from 'chai';
import { skipIfBinariesMissing } from '../envtest/skip.ts';
import { eventually } from '../support/eventually.ts';
import { pathOf } from '../world/world.ts';
import type { ArgoApplication, ObjectState } from './world/argocd.ts';
import { STEP_MS, startArgoApplication, validateArgoSample } from './world/argocd.ts';
import { type GitopsWorld, rolesOfProfiles, startGitopsWorld, waitUntilAtRest } from './world/gitops-world.ts';
import { SAMPLE_PROFILES, sampleObjects, withTeam, withoutProfile } from './world/sample.ts';

const FOLDER = sampleObjects();
const WEB = 'AWSFargateProfile/web';

describe("the sync engine of Argo CD, with the waves of this project's sample", () => {
  let gitops: GitopsWorld;
  let argo: ArgoApplication;

  before(async function () {
    gitops = await startGitopsWorld(this);
  });
  after(() => gitops.world.finish());

  /**
   * Waits until the sync engine has seen that the named AWSFargateProfiles are being deleted. Without this wait, the
   * next step of the engine would treat them as already deleted, and would delete the objects of the next wave. Argo CD
   * itself leaves a second between two steps, and normally sees the deletions in this second.
   */
  async function waitUntilDeletionsAreSeen(names: readonly string[]): Promise<void> {
    for (const name of names) await waitForState(`AWSFargateProfile/${name}`, { health: 'Progressing' });
  }
  /** Continues the sync operation until at least one Fargate profile in AWS has the given status. */
  const stepUntilStatusInAws = (status: 'CREATING' | 'DELETING'): Promise<boolean> =>
    eventually(
      async () => {
        const { phase, results } = await argo.step();
        const found = gitops.world.aws.admin.profiles().map((profile) => profile.status);
        if (!found.includes(status)) throw new Error(JSON.stringify({ found, phase, results }));
        return true;
      },
      { what: `a profile in status ${status}`, intervalMs: STEP_MS },
    );
  /**
   * Waits until the sync engine of Argo CD shows the given state of an object. With `stepping`, each check is preceded
   * by one step of the sync operation.
   */
  const waitForState = (object: string, wanted: Partial<ObjectState>, { stepping = false } = {}): Promise<true> =>
    eventually(
      async () => {
        if (stepping) await argo.step();
        const states = await argo.state();
        expect(states.find((each) => each.object === object)).to.include(wanted);
        return true as const;
      },
      { what: `${object} ${JSON.stringify(wanted)}`, ...(stepping && { intervalMs: STEP_MS }) },
    );
  /**
   * Expects that the sync operation is still running while EKS completes no creation or deletion, and that the sync
   * operation succeeds after EKS has completed them.
   */
  async function expectSyncToWaitForEks(): Promise<void> {
    expect((await argo.step()).phase).to.equal('Running');
    gitops.setEndless(false);
    gitops.completeChanges();
    expect((await argo.finish()).phase).to.equal('Succeeded');
  }
  async function createCluster(): Promise<void> {
    gitops.createEksCluster();
    gitops.setEndless(true);
    await argo.write(FOLDER);
    await argo.start();
    await gitops.actAsCapa();
    await waitForState(WEB, { outOfSync: false, health: 'Progressing' }, { stepping: true });
    await stepUntilStatusInAws('CREATING');
    await expectSyncToWaitForEks();
    for (const name of SAMPLE_PROFILES)
      expect(gitops.world.awsView.profile(`default_${name}`)?.status).to.equal('ACTIVE');
    expect((await argo.state()).filter(({ outOfSync }) => outOfSync)).to.deep.equal([]);
  }
  async function pruneSystem(): Promise<void> {
    const { world } = gitops;
    const { ownerReferences } = (await world.controlPlane.api.get(pathOf('system', 'default'))).metadata;
    expect(ownerReferences, 'Argo CD prunes no object with an owner reference').to.equal(undefined);
    gitops.setEndless(true);
    await argo.write(withoutProfile(FOLDER, 'system'));
    await argo.start();
    await stepUntilStatusInAws('DELETING');
    await expectSyncToWaitForEks();
    expect(await gitops.profiles()).to.deep.equal(['web']);
    expect(world.aws.admin.profiles().map(({ name }) => name)).to.deep.equal(['default_web']);
    expect(rolesOfProfiles(world)).to.have.length(1);
  }
  async function pruneCluster(): Promise<void> {
    const names = await gitops.profiles();
    gitops.setEndless(true);
    await argo.write([]);
    await argo.start();
    await waitUntilDeletionsAreSeen(names);
    await stepUntilStatusInAws('DELETING');
    const { deletionTimestamp } = (await gitops.world.controlPlane.api.get(gitops.cluster.clusterPath)).metadata;
    expect(deletionTimestamp, 'the Cluster is in an earlier wave').to.equal(undefined);
    await expectSyncToWaitForEks();
    await gitops.expectAllGone();
  }

  it('has a sample Application that the CRD of Argo CD accepts', async function () {
    expect(await validateArgoSample(gitops.world).catch(skipIfBinariesMissing(this))).to.equal('');
  });

  describe('and annotation tracking', () => {
    before(async function () {
      argo = await startArgoApplication(gitops.world, 'annotation').catch(skipIfBinariesMissing(this));
    });
    after(() => argo.stop());

    it('ends a sync only after the profiles, in the second wave, are Healthy', createCluster);

    it('writes nothing when it syncs ten times more', async () => {
      await waitUntilAtRest(gitops);
      const before = await gitops.versions();
      for (let times = 0; times < 10; times += 1) expect((await argo.sync()).phase).to.equal('Succeeded');
      expect(await gitops.versions()).to.deep.equal(before);
    });

    it('finds drift, and corrects it', async () => {
      await gitops.world.patch('web', { spec: { additionalTags: { team: 'intruders' } } });
      await gitops.waitForTeam('web', 'intruders');
      await waitForState(WEB, { outOfSync: true });
      expect((await argo.sync()).phase).to.equal('Succeeded');
      await gitops.waitForTeam('web', 'web');
      await waitForState(WEB, { outOfSync: false, health: 'Healthy' });
    });

    it('does not end the sync of a paused object before the end of the pause', async () => {
      const pause = (value: string | null): Promise<void> =>
        gitops.world.patch('web', { metadata: { annotations: { 'cluster.x-k8s.io/paused': value } } });
      await pause('true');
      await waitForState(WEB, { health: 'Suspended' });
      await argo.write(withTeam(FOLDER, 'web', 'shop'));
      await argo.start();
      await waitForState(WEB, { health: 'Suspended', outOfSync: false }, { stepping: true });
      expect((await argo.step()).phase).to.equal('Running');
      await pause(null);
      expect((await argo.finish()).phase).to.equal('Succeeded');
      await gitops.waitForTeam('web', 'shop');
    });

    it('waits for profile and role of an object that is removed from the folder', pruneSystem);
    it('prunes a whole cluster in the reverse order of the waves', pruneCluster);
  });

  describe('and label tracking', () => {
    before(async function () {
      argo = await startArgoApplication(gitops.world, 'label').catch(skipIfBinariesMissing(this));
    });
    after(() => argo.stop());

    it('ends a sync only after the profiles, in the second wave, are Healthy', createCluster);
    it('waits for profile and role of an object that is removed from the folder', pruneSystem);
    it('prunes a whole cluster in the reverse order of the waves', pruneCluster);
  });
});
