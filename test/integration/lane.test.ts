import { expect } from 'chai';
import type { KubeObject } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import { sideBySide } from '../support/side-by-side.ts';
import { callsFromNow } from '../world/calls.ts';
import { lookAgain } from '../world/look-again.ts';
import { laneOf, queueIn } from '../world/queue.ts';
import { conditionOf, messageOf, standing, waiting } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, fargateProfile, startWorld } from '../world/world.ts';

const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/awsfargateprofiles';
const THEIRS = `arn:aws:iam::${ACCOUNT}:role/theirs`;

/** Each version of each object, from now on. */
interface Watched {
  readonly seen: readonly KubeObject[];
  stop(): Promise<void>;
}

describe('the lane: EKS changes one profile of a cluster at a time', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: { eks: { createMs: [600, 1_200], deleteMs: [400, 900] } } });
    await world.startManager();
  });
  const alongside = sideBySide();
  after(() => world.finish());

  const { start, startBehind, creating, waitInLine, deleteAll, allReady, allGone, warningsOf } = queueIn(() => world);

  function watch(names: readonly string[]): Watched {
    const stopping = new AbortController();
    const seen: KubeObject[] = [];
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

  const waits = ({ seen }: Watched): readonly KubeObject[] =>
    seen.filter(({ status }) => status?.conditions?.some(({ reason }) => reason === 'WaitingForSibling'));

  /** In which order those that wait go: the older first, then by name. */
  const inLine = (objects: readonly KubeObject[]): readonly string[] =>
    objects
      .toSorted((a, b) =>
        `${a.metadata.creationTimestamp} ${a.metadata.name}` < `${b.metadata.creationTimestamp} ${b.metadata.name}`
          ? -1
          : 1,
      )
      .map(({ metadata }) => `default_${metadata.name}`);

  // In how much more than EKS' own time: test/kernel/lifecycle.test.ts, where no busy machine has a say in it.
  alongside(
    'ten that come at once and go at once: in line, without a refusal or a Warning, and each says who is ahead',
    async () => {
      const names = Array.from({ length: 10 }, (_, index) => `ten-${index}`);
      await world.createEksCluster('ten');
      const watched = watch(names);
      const calls = callsFromNow(world.aws, 'ten');

      await Promise.all(names.map((name) => start('ten', name)));
      await allReady(names);
      const objects = await Promise.all(names.map(async (name) => (await world.profile(name)) ?? expect.fail(name)));
      const [first, ...rest] = laneOf(calls);
      // The first comes before the others are known to be there.
      expect(rest).to.deep.equal(
        inLine(objects)
          .map((name) => `Create ${name}`)
          .filter((line) => line !== first),
      );

      await deleteAll(names);
      await allGone(names);
      await watched.stop();
      expect(calls.failures()).to.deep.equal([]);
      expect(calls.mutations()).to.have.length(10 * 6);
      expect(await warningsOf(names)).to.deep.equal([]);

      const told = waits(watched);
      expect(new Set(told.map(({ metadata }) => metadata.name)).size, 'all but the first have waited').to.be.at.least(
        9,
      );
      for (const object of told) {
        const condition = object.metadata.deletionTimestamp === undefined ? 'Ready' : 'Deleting';
        expect(messageOf(object, condition)).to.match(
          /^EKS changes one Fargate profile of a cluster at a time; ahead of this one: "default_ten-\d" \((being created|being deleted|starting|next in turn)\)$/,
        );
        expect(messageOf(object, condition)).not.to.contain(`"default_${object.metadata.name}"`);
        expect(conditionOf(object, 'Stalled').status).to.equal('False');
        expect(conditionOf(object, 'Reconciling')).to.include({ status: 'True', reason: 'WaitingForSibling' });
      }
    },
  );

  alongside('one that failed and waits for its next try holds nobody up', async () => {
    await world.createEksCluster('backoff');
    const first = { cluster: 'default_backoff-control-plane', name: 'default_backoff-a' };
    const calls = callsFromNow(world.aws, 'backoff');
    await start('backoff', 'backoff-a');
    await creating('backoff-a');
    // It stays so until both others are in line.
    world.aws.admin.setProfile({ ...first, status: 'CREATING' });
    await start('backoff', 'backoff-b', 'backoff-c');
    await waitInLine('backoff-b', 'backoff-c');
    world.aws.admin.setProfile({ ...first, status: 'CREATE_FAILED' });
    await allReady(['backoff-b', 'backoff-c']);
    expect(laneOf(calls)).to.deep.equal([
      'Create default_backoff-a',
      'Create default_backoff-b',
      'Create default_backoff-c',
    ]);
    await allReady(['backoff-a']);
    expect(calls.failures()).to.deep.equal([]);
  });

  describe('with somebody else in it', () => {
    const ahead = (name: string, who: string): Promise<KubeObject> =>
      eventually(async () => {
        const object = (await world.profile(name)) ?? expect.fail('it is not there');
        expect(messageOf(object, 'Ready')).to.equal(
          `EKS changes one Fargate profile of a cluster at a time; ahead of this one: ${who}`,
        );
        return object;
      });

    for (const [status, doing, next] of [
      ['CREATING', 'being created', 'ACTIVE'],
      ['DELETING', 'being deleted', 'gone'],
    ] as const)
      alongside(
        `whose profile is ${doing}: one asks EKS for all, each says who is ahead, and it goes on soon after`,
        async () => {
          const own = status.toLowerCase();
          const names = ['a', 'b', 'c'].map((letter) => `${own}-${letter}`);
          const { name: cluster } = await world.createEksCluster(own);
          const busyMs = 7_000;
          const begin = Date.now();
          world.aws.admin.putProfile({
            cluster,
            name: 'theirs',
            podExecutionRoleArn: THEIRS,
            status,
            next: { afterMs: busyMs, to: next },
          });
          const calls = callsFromNow(world.aws, own);
          await start(own, ...names);
          for (const name of names) {
            const object = await ahead(name, `"theirs" (${doing})`);
            expect(standing(object)).to.deep.equal(waiting('WaitingForSibling'));
          }
          await allReady(names);
          const { at = 0 } =
            calls.mutations().find(({ operation, applied }) => operation.startsWith('CreateF') && applied) ?? {};
          expect(at - begin - busyMs, 'milliseconds later').to.be.within(0, 5_500);
          expect(calls.failures()).to.deep.equal(['eks:CreateFargateProfile 409 ResourceInUseException']);
          expect(await warningsOf(names)).to.deep.equal([]);
          await deleteAll(names);
          await allGone(names);
          world.aws.admin.removeProfile({ cluster, name: 'theirs' });
        },
      );

    alongside('of whom only EKS knows what it updates: a create and a deletion wait, without a Warning', async () => {
      const { name: cluster } = await world.createEksCluster('update');
      await start('update', 'update-old');
      await allReady(['update-old']);
      world.aws.admin.setCluster({ name: cluster, updateInProgressMs: 10_000 });
      const calls = callsFromNow(world.aws, 'update');
      await start('update', 'update-new');
      const created = await world.condition('update-new', 'Ready', { status: 'False', reason: 'ClusterUpdating' });
      expect(standing(created)).to.deep.equal(waiting('ClusterUpdating'));
      await world.delete('update-old');
      const deleted = await world.condition('update-old', 'Deleting', { status: 'True', reason: 'ClusterUpdating' });
      expect(standing(deleted)).to.deep.equal({ ...waiting('ClusterUpdating'), Ready: 'False Deleting' });
      expect(messageOf(deleted, 'Deleting')).to.contain(`EKS cluster "${cluster}" is being updated, or is not ACTIVE`);
      await Promise.all([world.gone('update-old'), world.ready('update-new')]);
      expect(calls.failures()).to.deep.equal(['eks:CreateFargateProfile 409 ResourceInUseException']);
      expect(await warningsOf(['update-old', 'update-new'])).to.deep.equal([]);
    });

    alongside(
      'after each create, when EKS says ACTIVE and still refuses a deletion: it waits, without a Warning',
      async () => {
        const { name } = await world.createEksCluster('aftermath');
        await start('aftermath', 'aftermath');
        await allReady(['aftermath']);
        // Of this cluster alone: the others are not to feel it.
        world.aws.admin.setCluster({ name, updateInProgressMs: 10_000, refuses: ['delete', 'deleteCluster'] });
        await world.delete('aftermath');
        await world.condition('aftermath', 'Deleting', { status: 'True', reason: 'ClusterUpdating' });
        await allGone(['aftermath']);
        expect(await warningsOf(['aftermath'])).to.deep.equal([]);
      },
    );
  });

  describe('with a queue in it', () => {
    before(() => world.aws.admin.setConfig({ eks: { createMs: 500, deleteMs: 500 } }));

    it('a deletion goes before the creations that were there first', async () => {
      await world.createEksCluster('urgent');
      const pause = (name: string, paused: '' | null): Promise<void> =>
        world.patch(name, { metadata: { annotations: { 'cluster.x-k8s.io/paused': paused } } });
      const paused = { annotations: { 'cluster.x-k8s.io/paused': '' } };
      const waiters = ['urgent-a', 'urgent-b'];
      await world.apply(...waiters.map((name) => fargateProfile(name, { clusterName: 'urgent' }, paused)));
      await start('urgent', 'urgent-young');
      await allReady(['urgent-young']);
      const calls = callsFromNow(world.aws, 'urgent');
      const endFirst = await startBehind('urgent', 'urgent-first');
      await Promise.all(waiters.map((name) => pause(name, null)));
      await waitInLine(...waiters);
      await world.delete('urgent-young');
      await world.condition('urgent-young', 'Deleting', { status: 'True', reason: 'WaitingForSibling' });
      endFirst();
      await allGone(['urgent-young']);
      await allReady(['urgent-first', ...waiters]);
      expect(laneOf(calls)).to.deep.equal([
        'Create default_urgent-first',
        'Delete default_urgent-young',
        'Create default_urgent-a',
        'Create default_urgent-b',
      ]);
    });

    it('one that is paused meanwhile is passed over, and comes when it goes on', async () => {
      await world.createEksCluster('skip');
      const calls = callsFromNow(world.aws, 'skip');
      const endFirst = await startBehind('skip', 'skip-a', 'skip-b', 'skip-c');
      await world.patch('skip-b', { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } });
      await world.condition('skip-b', 'Paused', { status: 'True' });
      endFirst();
      await allReady(['skip-a', 'skip-c']);
      expect(world.inAws.profile('default_skip-b')).to.equal(undefined);
      await world.patch('skip-b', { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
      await allReady(['skip-b']);
      expect(laneOf(calls)).to.deep.equal(['Create default_skip-a', 'Create default_skip-c', 'Create default_skip-b']);
    });

    it('one that is deleted while it waits is never made', async () => {
      await world.createEksCluster('regret');
      const calls = callsFromNow(world.aws, 'regret');
      const endFirst = await startBehind('regret', 'regret-a', 'regret-b', 'regret-c');
      await world.delete('regret-b');
      await world.gone('regret-b');
      endFirst();
      await allReady(['regret-a', 'regret-c']);
      expect(laneOf(calls)).to.deep.equal(['Create default_regret-a', 'Create default_regret-c']);
      expect(world.inAws.role('regret-default_regret-b_fargate')).to.equal(undefined);
    });

    it('a change of the spec of one that waits is what is made in the end', async () => {
      await world.createEksCluster('edit');
      const endFirst = await startBehind('edit', 'edit-a', 'edit-b');
      await world.patch('edit-b', { spec: { selectors: [{ namespace: 'edited' }] } });
      await world.condition(
        'edit-b',
        'Reconciling',
        { status: 'True', reason: 'WaitingForSibling' },
        { generation: 2 },
      );
      endFirst();
      await allReady(['edit-a', 'edit-b']);
      expect(world.inAws.profile('default_edit-b')?.selectors).to.deep.equal([{ namespace: 'edited', labels: {} }]);
    });

    it('looks in between change nothing', async () => {
      const names = ['look-a', 'look-b', 'look-c'];
      await world.createEksCluster('look');
      const calls = callsFromNow(world.aws, 'look');
      const endFirst = await startBehind('look', ...names);
      for (let look = 0; look < 5; look++) for (const name of names) await lookAgain(world, name);
      endFirst();
      await allReady(names);
      expect(laneOf(calls)).to.deep.equal(names.map((name) => `Create default_${name}`));
    });
  });
});
