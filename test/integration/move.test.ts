import { expect } from 'chai';
import type { CallRecord } from '../aws/call-log.ts';
import type { KubeObject, WatchEvent } from '../envtest/api.ts';
import { STAND_IN_CRDS, loadCrds } from '../envtest/crds.ts';
import { endAll } from '../support/end-all.ts';
import { eventually } from '../support/eventually.ts';
import { Gate } from '../support/gate.ts';
import type { HttpProxy } from '../support/http-proxy.ts';
import type { Calls } from '../world/calls.ts';
import { callsFromNow } from '../world/calls.ts';
import { playCapaIn } from '../world/capa.ts';
import type { Move } from '../world/clusterctl.ts';
import { findMove, imitatedMove } from '../world/clusterctl.ts';
import { CLUSTERCTL_LABEL } from '../world/imitated-move.ts';
import type { ManagedCluster } from '../world/managed-cluster.ts';
import { createManagedCluster, playCoreManager } from '../world/managed-cluster.ts';
import { pathOf } from '../world/objects.ts';
import { throughHttpProxy } from '../world/proxied.ts';
import type { World } from '../world/world.ts';
import { OUR_CRD, fargateProfile, startWorld } from '../world/world.ts';

const INFRASTRUCTURE = '/apis/infrastructure.cluster.x-k8s.io/v1beta2';
const PROFILES = `${INFRASTRUCTURE}/awsfargateprofiles`;
const CLUSTERS = '/apis/cluster.x-k8s.io/v1beta2/clusters';
/** What a move drops and the target finds out again. */
const REBUILT = [
  'account',
  'region',
  'eksClusterName',
  'profileName',
  'profileARN',
  'profileStatus',
  'podExecutionRoleARN',
  'role',
  'subnets',
  'tagKeys',
  'initialization',
  'ready',
] as const;
/** What EKS has begun then ends when the test says so. */
const NEVER_MS = 3_600_000;
const QUICK_MS = 300;
const MANAGER = { flags: ['--sync-period', '500ms'] };
/** That of the credentials which the second management cluster is given by mistake. */
const OTHER_ACCOUNT = '210987654321';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const DELETION_REQUESTED = 'aws-fargate.cluster.x-k8s.io/deletion-requested';
const DELETE_FOR_MOVE = 'clusterctl.cluster.x-k8s.io/delete-for-move';

describe('clusterctl move, the real one, between two management clusters', function () {
  this.timeout(180_000);
  let home: World;
  let away: World;
  let cluster: ManagedCluster;
  let clusterctl: Move;
  /** Between the manager at home and its API server. */
  let proxy: HttpProxy;

  before(async function () {
    this.timeout(0); // the first time binaries are built from Go modules
    clusterctl = await findMove('clusterctl move');
    const crds = (await loadCrds(STAND_IN_CRDS)).map(asInstalledByClusterctl);
    home = await startWorld({ crds: [...crds, OUR_CRD] });
    away = await startWorld({ crds: [...crds, OUR_CRD], besides: home });
    const way = await throughHttpProxy(home.controlPlane);
    proxy = way.proxy;
    home.endWith(() => proxy.close());
    await home.startManager({ ...MANAGER, kubeconfigPath: way.kubeconfigPath });
    await away.startManager(MANAGER);
    for (const world of [home, away]) {
      const capa = playCapaIn(world);
      world.endWith(() => capa.stop());
    }
    cluster = await createManagedCluster(home, 'prod', { asCoreManager: true });
  });
  after(() =>
    endAll(
      () => away.finish(),
      () => home.finish(),
    ),
  );

  /** Has the cluster at a management cluster when a test begins: one that failed may have left it at the other. */
  async function beginAt(world: World): Promise<void> {
    const other = world === home ? away : home;
    if ((await other.controlPlane.api.list(CLUSTERS)).items.length > 0) await move(other, world);
  }

  /** All calls to AWS from the beginning of the move on, whoever made them. */
  async function move(from: World, to: World, how = clusterctl): Promise<Calls> {
    // clusterctl drops the Cluster's status too, and moves none that is not provisioned.
    await playCoreManager(from, cluster);
    const calls = callsFromNow(from.aws);
    await how(from.controlPlane, to.controlPlane);
    return calls;
  }

  const operations = (calls: Calls): readonly string[] => calls.mutations().map(({ operation }) => operation);

  /** Profiles and roles, whoever's they are. */
  const inAws = (): object => ({ profiles: home.aws.admin.profiles(), roles: home.aws.admin.roles() });

  /** Each object's own, so that two can be compared whatever the management cluster. */
  async function rebuilt(world: World, names: readonly string[]): Promise<readonly object[]> {
    const objects = await Promise.all(names.map((name) => world.ready(name)));
    return objects.map(({ spec, status = {} }) => ({
      spec,
      status: REBUILT.map((field) => [field, status[field]]),
      conditions: status.conditions?.map(({ type, status: is, reason }) => [type, is, reason]),
    }));
  }

  /** Everything a management cluster tells of its profiles from now on. */
  function watchProfiles(world: World): { versionsOf(name: string): readonly KubeObject[]; end(): void } {
    const events: WatchEvent[] = [];
    const ending = new AbortController();
    const collect = async (): Promise<void> => {
      for await (const event of world.controlPlane.api.watch(PROFILES, {}, ending.signal)) events.push(event);
    };
    // A test that fails ends without its watches: the server cuts them off.
    void collect().catch(() => undefined);
    return {
      versionsOf: (name) => events.map(({ object }) => object).filter(({ metadata }) => metadata.name === name),
      end: () => ending.abort(),
    };
  }

  describe('there and back', () => {
    const names = ['web', 'retained', 'shares-1', 'shares-2', 'tracked'];
    let before_: readonly object[];

    before(async () => {
      await home.apply(
        fargateProfile('web', { additionalTags: { team: 'shop' } }),
        fargateProfile('retained', { deletionPolicy: 'Retain' }),
        fargateProfile('shares-1', { roleName: 'shared-pods' }),
        fargateProfile('shares-2', { roleName: 'shared-pods' }),
        fargateProfile('tracked', {}, { annotations: { 'argocd.argoproj.io/tracking-id': 'shop' } }),
      );
      before_ = await rebuilt(home, names);
    });

    for (const { way, from, to } of [
      { way: 'there', from: () => home, to: () => away },
      { way: 'back', from: () => away, to: () => home },
    ])
      it(`${way}: nothing is changed in AWS, and the target finds out all that status said`, async () => {
        const [source, target] = [from(), to()];
        await beginAt(source);
        const untouched = inAws();
        const calls = await move(source, target);
        expect(await source.profiles()).to.deep.equal([]);
        expect((await source.controlPlane.api.list(CLUSTERS)).items).to.deep.equal([]);

        expect(await rebuilt(target, names)).to.deep.equal(before_);
        const { uid } = (await target.controlPlane.api.get(cluster.clusterPath)).metadata;
        for (const { metadata } of await target.profiles()) {
          expect(metadata.finalizers).to.deep.equal([FINALIZER]);
          const owners = metadata.name === 'tracked' ? undefined : [uid];
          expect(metadata.ownerReferences?.map((owner) => owner.uid)).to.deep.equal(owners);
        }
        // Each has been compared with AWS a few times since.
        const looks = (name: string): number => calls.about(`default_${name}`).length;
        const atArrival = names.map(looks);
        await eventually(() => names.every((name, index) => looks(name) >= (atArrival[index] ?? 0) + 3), {
          timeoutMs: 30_000,
        });
        expect(operations(calls)).to.deep.equal([]);
        expect(inAws()).to.deep.equal(untouched);
      });

    it('objects that are there before their Cluster wait for it, those on their way out too', async () => {
      await beginAt(home);
      // clusterctl creates what nothing owns together with the Clusters, in whatever order.
      const calls = callsFromNow(home.aws);
      await away.apply(
        fargateProfile('early', {}, { finalizers: [FINALIZER] }),
        fargateProfile('early-leaving', {}, { finalizers: [FINALIZER], annotations: { [DELETION_REQUESTED]: 'true' } }),
      );
      for (const name of ['early', 'early-leaving']) {
        await away.condition(name, 'Ready', { status: 'False', reason: 'WaitingForCluster' });
      }
      expect(calls.about('default_early')).to.deep.equal([]);
      await move(home, away);
      await away.gone('early-leaving');
      await away.ready('early');
      expect(operations(calls)).to.deep.equal(['CreateRole', 'AttachRolePolicy', 'CreateFargateProfile']);
      await away.delete('early');
      await away.gone('early');
    });

    it('back by the imitation that stands in for clusterctl where there is no Go: it comes to the same', async () => {
      await beginAt(away);
      const untouched = inAws();
      const calls = await move(away, home, imitatedMove);
      expect(await away.profiles()).to.deep.equal([]);
      expect(await rebuilt(home, names)).to.deep.equal(before_);
      expect(operations(calls)).to.deep.equal([]);
      expect(inAws()).to.deep.equal(untouched);
    });

    it('and is deleted there as if it had never been away', async () => {
      await beginAt(home);
      const calls = callsFromNow(home.aws);
      await home.patch('retained', { spec: { deletionPolicy: 'Delete' } });
      for (const name of names) await home.delete(name);
      for (const name of names) await home.gone(name);
      expect(calls.failures()).to.deep.equal([]);
      expect(home.inAws.role('shared-pods')).to.equal(undefined);
    });
  });

  describe('to where the credentials are those of another account', () => {
    it('an object is not given up that is deleted before its first good look', async () => {
      await beginAt(home);
      await home.apply(fargateProfile('strayed'));
      await home.ready('strayed');
      const { accessKeyId } = away.aws.admin.registerKey({ account: OTHER_ACCOUNT });
      await away.stopManager();
      await away.startManager({ ...MANAGER, accessKeyId });
      let calls: Calls;
      try {
        calls = await move(home, away);
        await away.delete('strayed');
        await away.condition('strayed', 'Deleting', { status: 'True', reason: 'WrongAccount' });
        const object = await away.profile('strayed');
        expect(object?.status).not.to.have.any.keys('account', 'region');
        expect(object?.metadata.finalizers).to.deep.equal([FINALIZER]);
        expect(operations(calls)).to.deep.equal([]);
        const asked = away.aws.log.read({ accessKeyId }).map(({ operation }) => operation);
        expect([...new Set(asked)], 'with the keys of the other account').to.deep.equal(['GetCallerIdentity']);
      } finally {
        await away.stopManager();
        await away.startManager(MANAGER);
      }
      await away.gone('strayed');
      expect(operations(calls)).to.have.members(['DeleteFargateProfile', 'DetachRolePolicy', 'DeleteRole']);
      await move(away, home);
    });
  });

  describe('in the midst of things', () => {
    const setConfig = (eks: { createMs: number } | { deleteMs: number }): void => home.aws.admin.setConfig({ eks });
    const inEks = (name: string) => ({ cluster: cluster.eksName, name: `default_${name}` });
    const removeProfile = (name: string): void => home.aws.admin.removeProfile(inEks(name));
    const statusInAws = (name: string): string | undefined => home.inAws.profile(`default_${name}`)?.status;
    let held: Gate[] = [];
    /** What a test holds and does not let go itself, because it failed, goes on when it is over. */
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

    it('a create that is under way becomes Ready at the target: it is found, not made again', async () => {
      await beginAt(home);
      setConfig({ createMs: NEVER_MS });
      await home.apply(fargateProfile('slow'));
      await eventually(() => statusInAws('slow') === 'CREATING');
      const calls = await move(home, away);
      await away.condition('slow', 'Ready', { status: 'False', reason: 'Creating' });
      home.aws.admin.setProfile({ ...inEks('slow'), status: 'ACTIVE' });
      const object = await away.ready('slow');
      expect(object.status?.['initialization']).to.deep.equal({ provisioned: true });
      expect(operations(calls)).to.deep.equal([]);
    });

    it('a create whose call reaches EKS after the move, when the target has made the profile, changes nothing', async () => {
      const isIt = ({ operation, nouns }: CallRecord): boolean =>
        operation === 'CreateFargateProfile' && nouns['fargateProfileName'] === 'default_late';
      await beginAt(away);
      const moved = gate('the create of late');
      const forget = home.aws.onCall(async (call, phase) => {
        if (phase !== 'before' || !isIt(call)) return;
        forget();
        await moved.pass();
      });
      await away.apply(fargateProfile('late'));
      await moved.arrived();
      const calls = await move(away, home);
      await home.ready('late');
      const made = home.inAws.profile('default_late');
      moved.open();
      const creates = (): readonly CallRecord[] => home.aws.log.read().filter(isIt);
      await eventually(() => creates().every(({ actedAt }) => actedAt !== undefined));
      expect(creates().map(({ applied }) => applied)).to.deep.equal([false, true]);
      expect(home.inAws.profile('default_late')).to.deep.equal(made);
      expect(operations(calls)).to.deep.equal(['CreateFargateProfile']);
      await move(home, away);
      await away.delete('late');
      await away.gone('late');
    });

    it('deletes that are under way, or wait for their turn, are carried on at the target, once', async () => {
      await beginAt(away);
      await away.apply(fargateProfile('slow'), fargateProfile('next'));
      await away.ready('slow');
      await away.ready('next');
      setConfig({ deleteMs: NEVER_MS });
      await away.delete('slow');
      await eventually(() => statusInAws('slow') === 'DELETING');
      await away.delete('next');
      await away.condition('next', 'Deleting', { status: 'True', reason: 'WaitingForSibling' });

      const arrivals = watchProfiles(home);
      // Nothing says who of the two comes first at the target: here the one that EKS would refuse, for whom nobody has
      // looked at the other yet, which is not even being deleted again.
      const resumed = gate('the deletion of slow at the target');
      proxy.hold(resumed, ({ method, path }) => method === 'DELETE' && path === pathOf('slow', 'default'));
      const calls = await move(away, home);
      await resumed.arrived();
      await home.condition('next', 'Deleting', { status: 'True', reason: 'WaitingForSibling' });
      expect(operations(calls)).to.deep.equal([]);
      resumed.open();
      await home.condition('slow', 'Deleting', { status: 'True', reason: 'DeletingProfile' });
      expect(operations(calls)).to.deep.equal([]);
      setConfig({ deleteMs: QUICK_MS });
      removeProfile('slow');
      await home.gone('slow');
      await home.gone('next');
      arrivals.end();
      // A move forgets that an object is being deleted; it arrives alive, with the mark, and is deleted anew.
      for (const name of ['slow', 'next']) {
        const seen = arrivals.versionsOf(name);
        expect(seen[0]?.metadata.deletionTimestamp).to.equal(undefined);
        expect(seen[0]?.metadata.annotations).to.have.property(DELETION_REQUESTED);
        expect(seen.at(-1)?.metadata.deletionTimestamp).to.be.a('string');
      }
      expect(await away.profiles()).to.deep.equal([]);
      expect(operations(calls)).to.have.members([
        'DetachRolePolicy',
        'DeleteRole',
        'DeleteFargateProfile',
        'DetachRolePolicy',
        'DeleteRole',
      ]);
      expect(calls.failures()).to.deep.equal([]);
    });

    it('what clusterctl has marked and deleted, and no more, is left alone in AWS, though nothing is paused', async () => {
      await beginAt(home);
      await home.apply(fargateProfile('taken'), fargateProfile('stays'));
      await Promise.all([home.ready('taken'), home.ready('stays')]);
      const { api } = home.controlPlane;
      const calls = callsFromNow(home.aws);
      const taken = `${INFRASTRUCTURE}/namespaces/default/awsfargateprofiles/taken`;
      for (const path of [taken, cluster.controlPlanePath]) {
        const annotations = { op: 'add', path: '/metadata/annotations', value: { [DELETE_FOR_MOVE]: '' } };
        await api.patch(path, [annotations], 'json');
        await api.delete(path);
      }
      // Another one's whole life: what there was to see has been seen by then.
      await home.createEksCluster('other');
      await home.apply(fargateProfile('meanwhile', { clusterName: 'other' }));
      await home.ready('meanwhile');
      await home.delete('meanwhile');
      await home.gone('meanwhile');

      for (const name of ['taken', 'stays']) {
        expect(calls.about(`default_${name}`).filter(({ mutates }) => mutates)).to.deep.equal([]);
        expect(statusInAws(name)).to.equal('ACTIVE');
        expect((await home.profile(name))?.metadata.finalizers).to.deep.equal([FINALIZER]);
      }
      expect((await home.profile('stays'))?.metadata.deletionTimestamp).to.equal(undefined);

      await home.patch('taken', { metadata: { finalizers: null } });
      await home.gone('taken');
      removeProfile('taken');
      home.aws.admin.removeRole({ name: 'prod-default_taken_fargate' });
      await home.delete('stays');
      await home.gone('stays');
    });
  });
});

function asInstalledByClusterctl<A extends { readonly metadata: { readonly name: string } }>(crd: A): A {
  const { labels } = crd.metadata as { readonly labels?: object };
  return { ...crd, metadata: { ...crd.metadata, labels: { ...labels, [CLUSTERCTL_LABEL]: '' } } };
}
