import { expect } from 'chai';
import type { CallRecord } from '../../aws/call-log.ts';
import type { RawObject, RawWatchEvent } from '../../envtest/clients/api.ts';
import { skipIfBinariesMissing } from '../../envtest/skip.ts';
import { endAll } from '../../support/end-all.ts';
import { eventually } from '../../support/eventually.ts';
import { Gate } from '../../support/gate.ts';
import type { HttpProxy } from '../../support/proxies/http-proxy.ts';
import { type Calls, callsFromNow } from '../../world/aws/calls.ts';
import { startCapaSimulatorIn } from '../../world/cluster-api/capa-simulator.ts';
import { type MovableProvider, findProvider } from '../../world/cluster-api/clusterctl/clusterctl.ts';
import { startInstalledManager } from '../../world/cluster-api/clusterctl/installed-provider.ts';
import type { ManagedCluster } from '../../world/cluster-api/managed-cluster.ts';
import { createManagedCluster, simulateCoreManager } from '../../world/cluster-api/managed-cluster.ts';
import { pathOf } from '../../world/manifests.ts';
import { startApiHttpProxy } from '../../world/manager/api-proxy.ts';
import { type World, ACCOUNT, REGION, fargateProfile } from '../../world/world.ts';
import { HELD_MS, operationsOf } from '../../world/aws/operations.ts';

const INFRASTRUCTURE = '/apis/infrastructure.cluster.x-k8s.io/v1beta2';
const PROFILES = `${INFRASTRUCTURE}/awsfargateprofiles`;
const CLUSTERS = '/apis/cluster.x-k8s.io/v1beta2/clusters';
/**
 * Status fields of an AWSFargateProfile that `clusterctl move` drops and that the manager of the target management
 * cluster must restore.
 */
const RESTORED_STATUS_FIELDS = [
  'account',
  'region',
  'eksClusterName',
  'profileName',
  'profileARN',
  'profileStatus',
  'podExecutionRoleARN',
  'role',
  'subnets',
  'initialization',
  'ready',
] as const;
const QUICK_MS = 300;
/** An EKS cluster that Cluster API does not manage. */
const TOOLS = 'tools';
const MANAGER = {
  flags: ['--sync-period', '500ms', `--allow-eks-cluster=default=${ACCOUNT}/${REGION}/${TOOLS}`],
};
const inTools = (name: string): object =>
  fargateProfile(name, { clusterName: undefined, eksCluster: { name: TOOLS, region: REGION } });
/**
 * An AWS account other than that of the test. In one test, the manager of the target management cluster has credentials
 * of this wrong account.
 */
const OTHER_ACCOUNT = '210987654321';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const RECORD = 'aws-fargate.cluster.x-k8s.io/record';
/** The record of an object whose deletion has begun. */
const LEAVING = JSON.stringify({ v: 1, for: 'default/early-leaving', profiles: [], roles: [], deleting: true });

describe('clusterctl move between two management clusters', () => {
  let home: World;
  let away: World;
  let cluster: ManagedCluster;
  let provider: MovableProvider;
  /** The proxy between the API server and the manager of the management cluster `home`. */
  let proxy: HttpProxy;

  before(async function () {
    provider = await findProvider().catch(skipIfBinariesMissing(this));
    home = await provider.startWorld();
    away = await provider.startWorld({ shareAwsWith: home });
    const way = await startApiHttpProxy(home.controlPlane);
    proxy = way.proxy;
    home.addCleanup(() => proxy.close());
    await startInstalledManager(home, { ...MANAGER, kubeconfigPath: way.kubeconfigPath });
    await startInstalledManager(away, MANAGER);
    for (const world of [home, away]) {
      const capa = startCapaSimulatorIn(world);
      world.addCleanup(() => capa.stop());
    }
    cluster = await createManagedCluster(home, 'prod', { simulatesCoreManager: true });
    home.aws.admin.createCluster({ name: TOOLS, region: REGION });
    home.addCleanup(async () => home.aws.admin.removeCluster({ name: TOOLS }));
  });
  after(() =>
    endAll(
      () => away.finish(),
      () => home.finish(),
      () => provider.close(),
    ),
  );

  /** Moves the workload cluster to the given management cluster, if a failed test has left it in the other one. */
  async function beginAt(world: World): Promise<void> {
    const other = world === home ? away : home;
    if ((await other.controlPlane.api.list(CLUSTERS)).items.length > 0) await move(other, world);
  }

  /**
   * Moves the workload cluster to another management cluster. Returns the AWS calls that both managers make from the
   * start of the move.
   */
  async function move(from: World, to: World): Promise<Calls> {
    // `clusterctl move` drops the status of the Cluster, and refuses to move a Cluster whose status does not say that
    // it is provisioned. So the test sets the status before each move.
    await simulateCoreManager(from, cluster);
    const calls = callsFromNow(from.aws);
    await provider.move(from.controlPlane, to.controlPlane);
    return calls;
  }

  const inAws = (): object => ({ profiles: home.aws.admin.profiles(), roles: home.aws.admin.roles() });

  /**
   * Returns the parts of each AWSFargateProfile that must be equal before and after a move: its spec, its conditions
   * without times and messages, and the status fields that the manager of the target restores.
   */
  async function restoredStates(world: World, names: readonly string[]): Promise<readonly object[]> {
    const objects = await Promise.all(names.map((name) => world.ready(name)));
    return objects.map(({ spec, status = {} }) => ({
      spec,
      status: RESTORED_STATUS_FIELDS.map((field) => [field, status[field]]),
      // The manager sets SelectorsOverlap about a second after the last object has changed, so the state here may be
      // outdated.
      conditions: status.conditions?.flatMap(({ type, status: is, reason }) =>
        type === 'SelectorsOverlap' ? [] : [[type, is, reason]],
      ),
    }));
  }

  /**
   * Starts a watch of the AWSFargateProfiles of a management cluster. `versionsOf` returns all versions of one
   * AWSFargateProfile that the watch has shown so far.
   */
  function watchProfiles(world: World): { versionsOf(name: string): readonly RawObject[]; end(): void } {
    const events: RawWatchEvent[] = [];
    const ending = new AbortController();
    const collect = async (): Promise<void> => {
      for await (const event of world.controlPlane.api.watch(PROFILES, {}, ending.signal)) events.push(event);
    };
    // A failed test does not stop this watch. The watch then fails when the API server stops, and its error must not
    // become an unhandled rejection.
    void collect().catch(() => undefined);
    return {
      versionsOf: (name) => events.map(({ object }) => object).filter(({ metadata }) => metadata.name === name),
      end: () => ending.abort(),
    };
  }

  describe('there and back', () => {
    const names = ['web', 'retained', 'shares-1', 'shares-2', 'tracked', 'in-eks'];
    /**
     * The AWSFargateProfiles to which the manager adds no owner reference. Argo CD tracks `tracked`, and Argo CD never
     * prunes an object that has an owner reference. `in-eks` names no Cluster that could be its owner.
     */
    const ownerless = ['tracked', 'in-eks'];
    let initial: readonly object[];

    before(async () => {
      await home.apply(
        fargateProfile('web', { additionalTags: { team: 'shop' } }),
        fargateProfile('retained', { deletionPolicy: 'Retain' }),
        fargateProfile('shares-1', { roleName: 'shared-pods' }),
        fargateProfile('shares-2', { roleName: 'shared-pods' }),
        fargateProfile('tracked', {}, { annotations: { 'argocd.argoproj.io/tracking-id': 'shop' } }),
        inTools('in-eks'),
      );
      initial = await restoredStates(home, names);
    });

    for (const { way, from, to } of [
      { way: 'there', from: () => home, to: () => away },
      { way: 'back', from: () => away, to: () => home },
    ])
      it(`${way} changes nothing in AWS, and the target restores the status`, async () => {
        const [source, target] = [from(), to()];
        await beginAt(source);
        const untouched = inAws();
        const calls = await move(source, target);
        expect(await source.profiles()).to.deep.equal([]);
        expect((await source.controlPlane.api.list(CLUSTERS)).items).to.deep.equal([]);

        expect(await restoredStates(target, names)).to.deep.equal(initial);
        const { uid } = (await target.controlPlane.api.get(cluster.clusterPath)).metadata;
        for (const { metadata } of await target.profiles()) {
          expect(metadata.finalizers).to.deep.equal([FINALIZER]);
          const owners = ownerless.includes(metadata.name) ? undefined : [uid];
          expect(metadata.ownerReferences?.map((owner) => owner.uid)).to.deep.equal(owners);
        }
        // The test waits until the manager of the target management cluster has compared each AWSFargateProfile with
        // AWS three more times. Only then does it check that nothing has changed in AWS.
        const looks = (name: string): number => calls.about(`default_${name}`).length;
        const atArrival = names.map(looks);
        await eventually(() => names.every((name, index) => looks(name) >= (atArrival[index] ?? 0) + 3));
        expect(operationsOf(calls)).to.deep.equal([]);
        expect(inAws()).to.deep.equal(untouched);
      });

    it('makes objects that arrive before their Cluster wait for it, also objects that are being deleted', async () => {
      await beginAt(home);
      // `clusterctl move` creates objects without an owner reference at the same time as Clusters. So an
      // AWSFargateProfile can arrive before its Cluster.
      const calls = callsFromNow(home.aws);
      await away.apply(
        fargateProfile('early', {}, { finalizers: [FINALIZER] }),
        fargateProfile('early-leaving', {}, { finalizers: [FINALIZER], annotations: { [RECORD]: LEAVING } }),
      );
      for (const name of ['early', 'early-leaving']) {
        await away.condition(name, 'Ready', { status: 'False', reason: 'WaitingForCluster' });
      }
      expect(calls.about('default_early')).to.deep.equal([]);
      await move(home, away);
      await away.gone('early-leaving');
      await away.ready('early');
      expect(operationsOf(calls)).to.deep.equal(['CreateRole', 'AttachRolePolicy', 'CreateFargateProfile']);
      await away.delete('early');
      await away.gone('early');
    });

    it('does not affect a later deletion', async () => {
      await beginAt(home);
      const calls = callsFromNow(home.aws);
      await home.patch('retained', { spec: { deletionPolicy: 'Delete' } });
      for (const name of names) await home.delete(name);
      for (const name of names) await home.gone(name);
      expect(calls.failures()).to.deep.equal([]);
      expect(home.awsView.role('shared-pods')).to.equal(undefined);
    });
  });

  describe('to a manager with credentials of another account', () => {
    it('keeps an object that is deleted before its first successful comparison with AWS', async () => {
      await beginAt(home);
      await home.apply(fargateProfile('strayed'));
      await home.ready('strayed');
      const { accessKeyId } = away.aws.admin.registerKey({ account: OTHER_ACCOUNT });
      await away.stopManager();
      await startInstalledManager(away, { ...MANAGER, accessKeyId });
      let calls: Calls;
      try {
        calls = await move(home, away);
        await away.delete('strayed');
        await away.condition('strayed', 'Deleting', { status: 'True', reason: 'WrongAccount' });
        const object = await away.profile('strayed');
        expect(object?.status).not.to.have.any.keys('account', 'region');
        expect(object?.metadata.finalizers).to.deep.equal([FINALIZER]);
        expect(operationsOf(calls)).to.deep.equal([]);
        const asked = away.aws.log.read({ accessKeyId }).map(({ operation }) => operation);
        expect([...new Set(asked)], 'with the keys of the other account').to.deep.equal(['GetCallerIdentity']);
      } finally {
        await away.stopManager();
        await startInstalledManager(away, MANAGER);
      }
      await away.gone('strayed');
      expect(operationsOf(calls)).to.have.members([
        'DeleteFargateProfile',
        'DetachRolePolicy',
        'DeleteAccessEntry',
        'DeleteRole',
      ]);
      await move(away, home);
    });
  });

  describe('during changes in AWS', () => {
    const setConfig = (eks: { createMs: number } | { deleteMs: number }): void => home.aws.admin.setConfig({ eks });
    const inEks = (name: string) => ({ cluster: cluster.eksName, name: `default_${name}` });
    const removeProfile = (name: string): void => home.aws.admin.removeProfile(inEks(name));
    const statusInAws = (name: string): string | undefined => home.awsView.profile(`default_${name}`)?.status;
    let held: Gate[] = [];
    /**
     * Creates a gate, at which a test holds a request. If the test fails before it opens the gate, the `afterEach` hook
     * opens it.
     */
    const gate = (what: string): Gate => {
      const made = new Gate(what);
      held.push(made);
      return made;
    };
    afterEach(() => {
      for (const each of held) each.open();
      held = [];
      setConfig({ createMs: QUICK_MS });
      setConfig({ deleteMs: QUICK_MS });
      for (const { name, status } of home.aws.admin.profiles()) {
        const which = { cluster: cluster.eksName, name };
        if (status === 'CREATING') home.aws.admin.setProfile({ ...which, status: 'ACTIVE' });
        if (status === 'DELETING') home.aws.admin.removeProfile(which);
      }
    });

    it('finds at the target a profile whose create is running, and does not create it again', async () => {
      await beginAt(home);
      setConfig({ createMs: HELD_MS });
      await home.apply(fargateProfile('slow'));
      await eventually(() => statusInAws('slow') === 'CREATING');
      const calls = await move(home, away);
      await away.condition('slow', 'Ready', { status: 'False', reason: 'Creating' });
      home.aws.admin.setProfile({ ...inEks('slow'), status: 'ACTIVE' });
      const object = await away.ready('slow');
      expect(object.status?.['initialization']).to.deep.equal({ provisioned: true });
      expect(operationsOf(calls)).to.deep.equal([]);
    });

    it('is not affected by a create call that reaches EKS after the target has created the profile', async () => {
      const isIt = ({ operation, identifiers }: CallRecord): boolean =>
        operation === 'CreateFargateProfile' && identifiers['fargateProfileName'] === 'default_late';
      await beginAt(away);
      const moved = gate('the create of late');
      const forget = home.aws.onCall(async (call, phase) => {
        if (phase !== 'before' || !isIt(call)) return;
        forget();
        await moved.pass();
      });
      await away.apply(fargateProfile('late'));
      await moved.waitForArrival();
      const calls = await move(away, home);
      await home.ready('late');
      const made = home.awsView.profile('default_late');
      moved.open();
      const creates = (): readonly CallRecord[] => home.aws.log.read().filter(isIt);
      await eventually(() => creates().every(({ actedAt }) => actedAt !== undefined));
      expect(creates().map(({ applied }) => applied)).to.deep.equal([false, true]);
      expect(home.awsView.profile('default_late')).to.deep.equal(made);
      expect(operationsOf(calls)).to.deep.equal(['CreateFargateProfile']);
      await move(home, away);
      await away.delete('late');
      await away.gone('late');
    });

    it('makes nothing twice for an object without a Cluster, which nothing pauses at the source', async () => {
      await beginAt(away);
      const made: string[] = [];
      const forget = home.aws.onCall(({ operation, identifiers, applied }, phase) => {
        if (phase === 'after' && applied && operation.startsWith('Create'))
          made.push(`${operation} ${JSON.stringify(identifiers)}`);
      });
      const firstCreate = gate('the first create of both');
      const isFirst = home.aws.onCall(async ({ operation, identifiers }, phase) => {
        if (phase !== 'before' || operation !== 'CreateRole' || !identifiers['RoleName']?.includes('both')) return;
        isFirst();
        await firstCreate.pass();
      });
      await away.apply(inTools('both'));
      await firstCreate.waitForArrival();
      // The manager of the source management cluster is in the middle of a reconcile. It makes its next AWS calls while
      // the manager of the target management cluster already makes AWS calls too.
      const moving = move(away, home);
      await eventually(async () => (await home.profile('both')) !== undefined);
      firstCreate.open();
      await moving;
      await home.ready('both');
      expect(await away.profile('both')).to.equal(undefined);
      forget();
      expect(new Set(made).size, made.join()).to.equal(2);
      expect(made).to.have.length(2);
      await home.delete('both');
      await home.gone('both');
      expect(home.awsView.role(`${TOOLS}-default_both_fargate`)).to.equal(undefined);
      await move(home, away);
    });

    it('continues running and waiting deletions at the target, without a call that EKS refuses', async () => {
      await beginAt(away);
      await away.apply(fargateProfile('slow'), fargateProfile('next'));
      await away.ready('slow');
      await away.ready('next');
      setConfig({ deleteMs: HELD_MS });
      await away.delete('slow');
      await eventually(() => statusInAws('slow') === 'DELETING');
      await away.delete('next');
      await away.condition('next', 'Deleting', { status: 'True', reason: 'WaitingForSibling' });

      const arrivals = watchProfiles(home);
      // `clusterctl move` drops the deletionTimestamp of the AWSFargateProfile `slow`, so the target's manager deletes
      // the object again. The test holds the request of this deletion. Meanwhile the target's manager reconciles the
      // AWSFargateProfile `next`. That manager has not seen the deletion of `slow`, and learns from the list of
      // profiles in EKS that it must wait.
      const resumed = gate('the deletion of slow at the target');
      proxy.holdRequests(resumed, ({ method, path }) => method === 'DELETE' && path === pathOf('slow', 'default'));
      const calls = await move(away, home);
      await resumed.waitForArrival();
      await home.condition('next', 'Deleting', { status: 'True', reason: 'WaitingForSibling' });
      expect(calls.mutations().filter(({ applied }) => applied)).to.deep.equal([]);
      resumed.open();
      await home.condition('slow', 'Deleting', { status: 'True', reason: 'DeletingProfile' });
      expect(operationsOf(calls)).to.deep.equal([]);
      setConfig({ deleteMs: QUICK_MS });
      removeProfile('slow');
      await home.gone('slow');
      await home.gone('next');
      arrivals.end();
      // `clusterctl move` drops the deletionTimestamp of an AWSFargateProfile. The object arrives in the target
      // management cluster with an annotation that requests its deletion, and the manager there deletes it again.
      for (const name of ['slow', 'next']) {
        const seen = arrivals.versionsOf(name);
        expect(seen[0]?.metadata.deletionTimestamp).to.equal(undefined);
        expect(seen[0]?.metadata.annotations?.[RECORD]).to.include('"deleting":true');
        expect(seen.at(-1)?.metadata.deletionTimestamp).to.be.a('string');
      }
      expect(await away.profiles()).to.deep.equal([]);
      expect(operationsOf(calls)).to.have.members([
        'DetachRolePolicy',
        'DeleteAccessEntry',
        'DeleteRole',
        'DeleteFargateProfile',
        'DetachRolePolicy',
        'DeleteAccessEntry',
        'DeleteRole',
      ]);
      expect(calls.failures()).to.deep.equal([]);
    });
  });
});
