import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { eventually } from '../../support/eventually.ts';
import { sideBySide } from '../../support/side-by-side.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { triggerReconcile } from '../../world/trigger-reconcile.ts';
import { HELD_MS } from '../../world/aws/operations.ts';
import { profileMutations, profileQueueOf } from '../../world/aws/queue.ts';
import { conditionOf, messageOf, summaryOf, waiting } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, fargateProfile, startWorld } from '../../world/world.ts';

const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/awsfargateprofiles';
const OTHER_ROLE_ARN = `arn:aws:iam::${ACCOUNT}:role/theirs`;

/** The versions of the watched AWSFargateProfiles since the start of the watch. */
interface Watched {
  readonly seen: readonly RawObject[];
  stop(): Promise<void>;
}

describe('the cluster queue: EKS changes one profile of a cluster at a time', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: { eks: { createMs: [600, 1_200], deleteMs: [400, 900] } } });
    await world.startManager();
  });
  const alongside = sideBySide();
  after(() => world.finish());

  const { start, startQueued, waitUntilQueued, deleteAll, waitUntilReady, waitUntilGone, warningsOf } = profileQueueOf(
    () => world,
  );

  function watch(names: readonly string[]): Watched {
    const stopping = new AbortController();
    const seen: RawObject[] = [];
    const watching = (async () => {
      for await (const { object } of world.controlPlane.api.watch(PROFILES, {}, stopping.signal)) {
        if (names.includes(object.metadata.name)) seen.push(object);
      }
    })().catch(() => undefined);
    return {
      seen,
      stop: async () => {
        stopping.abort();
        await watching;
      },
    };
  }

  const waitingVersions = ({ seen }: Watched): readonly RawObject[] =>
    seen.filter(({ status }) => status?.conditions?.some(({ reason }) => reason === 'WaitingForSibling'));

  /**
   * The names of the Fargate profiles in the order in which the manager lets EKS create them. The oldest
   * AWSFargateProfile comes first, and AWSFargateProfiles of the same age are ordered by name.
   */
  const queueOrder = (objects: readonly RawObject[]): readonly string[] =>
    objects
      .toSorted((a, b) =>
        `${a.metadata.creationTimestamp} ${a.metadata.name}` < `${b.metadata.creationTimestamp} ${b.metadata.name}`
          ? -1
          : 1,
      )
      .map(({ metadata }) => `default_${metadata.name}`);

  // The tests of this file check the order of creations and deletions. test/simulation/lifecycle.test.ts checks on a
  // virtual clock how much time the waiting adds to the time that EKS needs.
  alongside(
    'creates and deletes ten concurrent objects in order, without a refusal or a Warning, and each object names the object ahead',
    async () => {
      const names = Array.from({ length: 10 }, (_, index) => `ten-${index}`);
      await world.createEksCluster('ten');
      const watched = watch(names);
      const calls = callsFromNow(world.aws, 'ten');

      await Promise.all(names.map((name) => start('ten', name)));
      await waitUntilReady(names);
      const objects = await Promise.all(names.map(async (name) => (await world.profile(name)) ?? expect.fail(name)));
      const [first, ...rest] = profileMutations(calls);
      // The controller can create a Fargate profile before its watch has delivered all ten AWSFargateProfiles. So the
      // first creation can be for any of the ten.
      expect(rest).to.deep.equal(
        queueOrder(objects)
          .map((name) => `Create ${name}`)
          .filter((line) => line !== first),
      );

      await deleteAll(names);
      await waitUntilGone(names);
      await watched.stop();
      expect(calls.failures()).to.deep.equal([]);
      // Each AWSFargateProfile takes seven calls that change AWS. Creation: CreateRole, AttachRolePolicy,
      // CreateFargateProfile. Deletion: DeleteFargateProfile, DeleteAccessEntry, DetachRolePolicy, DeleteRole.
      expect(calls.mutations()).to.have.length(10 * 7);
      expect(await warningsOf(names)).to.deep.equal([]);

      const waited = waitingVersions(watched);
      expect(new Set(waited.map(({ metadata }) => metadata.name)).size, 'all but the first have waited').to.be.at.least(
        9,
      );
      for (const object of waited) {
        const condition = object.metadata.deletionTimestamp === undefined ? 'Ready' : 'Deleting';
        expect(messageOf(object, condition)).to.match(
          /^EKS changes only one Fargate profile of a cluster at a time, and Fargate profile "default_ten-\d" is (being created|being deleted|about to be changed|next in turn)\. /,
        );
        expect(messageOf(object, condition)).not.to.contain(`"default_${object.metadata.name}"`);
        expect(conditionOf(object, 'Stalled').status).to.equal('False');
        expect(conditionOf(object, 'Reconciling')).to.include({ status: 'True', reason: 'WaitingForSibling' });
      }
    },
  );

  describe('with changes by other clients', () => {
    const ahead = (name: string, who: string): Promise<RawObject> =>
      eventually(async () => {
        const object = (await world.profile(name)) ?? expect.fail('the object does not exist');
        expect(messageOf(object, 'Ready')).to.equal(
          `EKS changes only one Fargate profile of a cluster at a time, and Fargate profile ${who}. The controller waits, and then continues with the profile of this object on its own.`,
        );
        return object;
      });

    for (const [status, doing] of [
      ['CREATING', 'being created'],
      ['DELETING', 'being deleted'],
    ] as const)
      alongside(
        `behind another owner’s profile that is ${doing}: one object asks EKS, each object names the profile ahead, and creates follow`,
        async () => {
          const own = status.toLowerCase();
          const names = ['a', 'b', 'c'].map((letter) => `${own}-${letter}`);
          const { name: cluster } = await world.createEksCluster(own);
          world.aws.admin.putProfile({ cluster, name: 'theirs', podExecutionRoleArn: OTHER_ROLE_ARN, status });
          const calls = callsFromNow(world.aws, own);
          await start(own, ...names);
          for (const name of names) {
            const object = await ahead(name, `"theirs" is ${doing}`);
            expect(summaryOf(object)).to.deep.equal(waiting('WaitingForSibling'));
          }
          if (status === 'CREATING') world.aws.admin.setProfile({ cluster, name: 'theirs', status: 'ACTIVE' });
          else world.aws.admin.removeProfile({ cluster, name: 'theirs' });
          await waitUntilReady(names);
          expect(calls.failures()).to.deep.equal(['eks:CreateFargateProfile 409 ResourceInUseException']);
          expect(await warningsOf(names)).to.deep.equal([]);
          await deleteAll(names);
          await waitUntilGone(names);
          world.aws.admin.removeProfile({ cluster, name: 'theirs' });
        },
      );

    alongside('during a cluster update: a create and a deletion wait without a Warning', async () => {
      const { name: cluster } = await world.createEksCluster('update');
      await start('update', 'update-old');
      await waitUntilReady(['update-old']);
      world.aws.admin.setCluster({ name: cluster, updateInProgressMs: HELD_MS });
      const calls = callsFromNow(world.aws, 'update');
      await start('update', 'update-new');
      const created = await world.condition('update-new', 'Ready', { status: 'False', reason: 'ClusterUpdating' });
      expect(summaryOf(created)).to.deep.equal(waiting('ClusterUpdating'));
      await world.delete('update-old');
      const deleted = await world.condition('update-old', 'Deleting', { status: 'True', reason: 'ClusterUpdating' });
      expect(summaryOf(deleted)).to.deep.equal({ ...waiting('ClusterUpdating'), Ready: 'False Deleting' });
      expect(messageOf(deleted, 'Deleting')).to.contain(
        `EKS accepts no change of the Fargate profiles of EKS cluster "${cluster}" at the moment`,
      );
      world.aws.admin.setCluster({ name: cluster, updateInProgressMs: 0 });
      await Promise.all([world.gone('update-old'), world.ready('update-new')]);
      expect(calls.failures()).to.deep.equal(['eks:CreateFargateProfile 409 ResourceInUseException']);
      expect(await warningsOf(['update-old', 'update-new'])).to.deep.equal([]);
    });

    alongside(
      'after a create, while EKS still refuses a deletion of the ACTIVE profile: the deletion waits without a Warning',
      async () => {
        const { name } = await world.createEksCluster('aftermath');
        await start('aftermath', 'aftermath');
        await waitUntilReady(['aftermath']);
        // Other tests use the same AWS emulator at the same time. So the test changes the settings of its own EKS
        // cluster only.
        world.aws.admin.setCluster({ name, updateInProgressMs: HELD_MS, refuses: ['delete', 'deleteCluster'] });
        await world.delete('aftermath');
        await world.condition('aftermath', 'Deleting', { status: 'True', reason: 'ClusterUpdating' });
        world.aws.admin.setCluster({ name, updateInProgressMs: 0 });
        await waitUntilGone(['aftermath']);
        expect(await warningsOf(['aftermath'])).to.deep.equal([]);
      },
    );
  });

  describe('with waiting objects', () => {
    before(() => world.aws.admin.setConfig({ eks: { createMs: 500, deleteMs: 500 } }));

    it('puts a deletion before older creates', async () => {
      await world.createEksCluster('urgent');
      const pause = (name: string, paused: '' | null): Promise<void> =>
        world.patch(name, { metadata: { annotations: { 'cluster.x-k8s.io/paused': paused } } });
      const paused = { annotations: { 'cluster.x-k8s.io/paused': '' } };
      const waiters = ['urgent-a', 'urgent-b'];
      await world.apply(...waiters.map((name) => fargateProfile(name, { clusterName: 'urgent' }, paused)));
      await start('urgent', 'urgent-young');
      await waitUntilReady(['urgent-young']);
      const calls = callsFromNow(world.aws, 'urgent');
      const endFirst = await startQueued('urgent', 'urgent-first');
      await Promise.all(waiters.map((name) => pause(name, null)));
      await waitUntilQueued(...waiters);
      await world.delete('urgent-young');
      await world.condition('urgent-young', 'Deleting', { status: 'True', reason: 'WaitingForSibling' });
      endFirst();
      await waitUntilGone(['urgent-young']);
      await waitUntilReady(['urgent-first', ...waiters]);
      expect(profileMutations(calls)).to.deep.equal([
        'Create default_urgent-first',
        'Delete default_urgent-young',
        'Create default_urgent-a',
        'Create default_urgent-b',
      ]);
    });

    it('passes over a paused object and creates its profile once it is resumed', async () => {
      await world.createEksCluster('skip');
      const calls = callsFromNow(world.aws, 'skip');
      const endFirst = await startQueued('skip', 'skip-a', 'skip-b', 'skip-c');
      await world.patch('skip-b', { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } });
      await world.condition('skip-b', 'Paused', { status: 'True' });
      endFirst();
      await waitUntilReady(['skip-a', 'skip-c']);
      expect(world.awsView.profile('default_skip-b')).to.equal(undefined);
      await world.patch('skip-b', { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
      await waitUntilReady(['skip-b']);
      expect(profileMutations(calls)).to.deep.equal([
        'Create default_skip-a',
        'Create default_skip-c',
        'Create default_skip-b',
      ]);
    });

    it('creates nothing for an object that is deleted while it waits', async () => {
      await world.createEksCluster('regret');
      const calls = callsFromNow(world.aws, 'regret');
      const endFirst = await startQueued('regret', 'regret-a', 'regret-b', 'regret-c');
      await world.delete('regret-b');
      await world.gone('regret-b');
      endFirst();
      await waitUntilReady(['regret-a', 'regret-c']);
      expect(profileMutations(calls)).to.deep.equal(['Create default_regret-a', 'Create default_regret-c']);
      expect(world.awsView.role('regret-default_regret-b_fargate')).to.equal(undefined);
    });

    it('creates the profile of a waiting object with its last spec', async () => {
      await world.createEksCluster('edit');
      const endFirst = await startQueued('edit', 'edit-a', 'edit-b');
      await world.patch('edit-b', { spec: { selectors: [{ namespace: 'edited' }] } });
      await world.condition(
        'edit-b',
        'Reconciling',
        { status: 'True', reason: 'WaitingForSibling' },
        { generation: 2 },
      );
      endFirst();
      await waitUntilReady(['edit-a', 'edit-b']);
      expect(world.awsView.profile('default_edit-b')?.selectors).to.deep.equal([{ namespace: 'edited', labels: {} }]);
    });

    it('keeps its order when waiting objects are reconciled', async () => {
      const names = ['look-a', 'look-b', 'look-c'];
      await world.createEksCluster('look');
      const calls = callsFromNow(world.aws, 'look');
      const endFirst = await startQueued('look', ...names);
      for (let look = 0; look < 5; look++) for (const name of names) await triggerReconcile(world, name);
      endFirst();
      await waitUntilReady(names);
      expect(profileMutations(calls)).to.deep.equal(names.map((name) => `Create default_${name}`));
    });
  });
});
