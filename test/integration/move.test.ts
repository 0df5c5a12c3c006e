import { expect } from 'chai';
import type { WatchEvent } from '../envtest/api.ts';
import { resolveBinaries } from '../envtest/binaries.ts';
import { STAND_IN_CRDS, loadCrds } from '../envtest/crds.ts';
import { skipWhereMissing } from '../envtest/skip.ts';
import { eventually } from '../support/eventually.ts';
import type { Calls } from '../world/calls.ts';
import { callsFromNow } from '../world/calls.ts';
import { playCapa } from '../world/capa.ts';
import { CLUSTERCTL_LABEL, clusterctlMove } from '../world/clusterctl.ts';
import type { ManagedCluster } from '../world/managed-cluster.ts';
import { createManagedCluster, playCoreManager } from '../world/managed-cluster.ts';
import type { World } from '../world/world.ts';
import { OUR_CRD, fargateProfile, startWorld } from '../world/world.ts';

const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles';
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
  'initialization',
  'ready',
] as const;
/** Longer than a move takes. */
const IN_FLIGHT_MS = 10_000;
const QUICK_MS = 300;

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const DELETION_REQUESTED = 'aws-fargate.cluster.x-k8s.io/deletion-requested';

describe('clusterctl move, the real one, between two management clusters', function () {
  this.timeout(180_000);
  let home: World;
  let away: World;
  let cluster: ManagedCluster;

  before(async function () {
    this.timeout(0); // the first time binaries are built from Go modules
    await resolveBinaries(['clusterctl']).catch(skipWhereMissing(this));
    const crds = (await loadCrds(STAND_IN_CRDS)).map(asInstalledByClusterctl);
    home = await startWorld({ crds: [...crds, OUR_CRD] });
    away = await startWorld({ crds: [...crds, OUR_CRD], besides: home });
    for (const world of [home, away]) {
      await world.startManager({ flags: ['--sync-period', '2s'] });
      const capa = playCapa(world);
      world.endWith(() => capa.stop());
    }
    cluster = await createManagedCluster(home, 'prod', { asCoreManager: true });
  });
  after(async () => {
    try {
      await away.finish();
    } finally {
      await home.finish();
    }
  });

  /** All calls to AWS from the beginning of the move on, whoever made them. */
  async function move(from: World, to: World): Promise<Calls> {
    // clusterctl drops the Cluster's status too, and moves none that is not provisioned.
    await playCoreManager(from, cluster);
    const calls = callsFromNow(from.aws);
    const { code, output } = await clusterctlMove(from.controlPlane, to.controlPlane);
    expect(code, output).to.equal(0);
    return calls;
  }

  const operations = (calls: Calls): readonly string[] => calls.mutations().map(({ operation }) => operation);

  /** Each object's own, so that two can be compared whatever the management cluster. */
  async function rebuilt(world: World, names: readonly string[]): Promise<readonly object[]> {
    const objects = await Promise.all(names.map((name) => world.ready(name)));
    return objects.map(({ spec, status = {} }) => ({ spec, status: REBUILT.map((field) => [field, status[field]]) }));
  }

  /** Everything a management cluster tells of its profiles from now on. */
  function watchProfiles(world: World): { readonly events: readonly WatchEvent[]; end(): void } {
    const events: WatchEvent[] = [];
    const ending = new AbortController();
    const collect = async (): Promise<void> => {
      for await (const event of world.controlPlane.api.watch(PROFILES, {}, ending.signal)) events.push(event);
    };
    // A test that fails ends without its watches: the server cuts them off.
    void collect().catch(() => undefined);
    return { events, end: () => ending.abort() };
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
      });

    it('objects that are there before their Cluster wait for it, those on their way out too', async () => {
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
      await move(away, home);
      expect(await rebuilt(home, names)).to.deep.equal(before_);
    });

    it('and is deleted there as if it had never been away', async () => {
      const calls = callsFromNow(home.aws);
      await home.patch('retained', { spec: { deletionPolicy: 'Delete' } });
      for (const name of names) await home.delete(name);
      for (const name of names) await home.gone(name);
      expect(calls.failures()).to.deep.equal([]);
      expect(home.inAws.role('shared-pods')).to.equal(undefined);
    });
  });

  describe('in the midst of things', () => {
    afterEach(() => home.aws.admin.setConfig({ eks: { createMs: QUICK_MS, deleteMs: QUICK_MS } }));

    it('a create that is under way becomes Ready at the target: it is found, not made again', async () => {
      home.aws.admin.setConfig({ eks: { createMs: IN_FLIGHT_MS } });
      await home.apply(fargateProfile('slow'));
      await eventually(() => home.inAws.profile('default_slow')?.status === 'CREATING');
      const calls = await move(home, away);
      expect(home.inAws.profile('default_slow')?.status, 'still under way after the move').to.equal('CREATING');
      const object = await away.ready('slow');
      expect(object.status?.['initialization']).to.deep.equal({ provisioned: true });
      expect(operations(calls)).to.deep.equal([]);
    });

    it('deletes that are under way, or wait for their turn, are carried on at the target, once', async () => {
      await away.apply(fargateProfile('next'));
      await away.ready('next');
      home.aws.admin.setConfig({ eks: { deleteMs: IN_FLIGHT_MS } });
      await away.delete('slow');
      await eventually(() => home.inAws.profile('default_slow')?.status === 'DELETING');
      await away.delete('next');
      await away.condition('next', 'Deleting', { status: 'True', reason: 'WaitingForSibling' });

      const arrivals = watchProfiles(home);
      const calls = await move(away, home);
      expect(home.inAws.profile('default_slow')?.status, 'still under way after the move').to.equal('DELETING');
      expect(operations(calls)).to.deep.equal([]);
      home.aws.admin.setConfig({ eks: { deleteMs: QUICK_MS } });
      await home.gone('slow');
      await home.gone('next');
      arrivals.end();
      // A move forgets that an object is being deleted; it arrives alive, with the mark, and is deleted anew.
      for (const name of ['slow', 'next']) {
        const seen = arrivals.events.map(({ object }) => object).filter(({ metadata }) => metadata.name === name);
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
  });
});

function asInstalledByClusterctl<A extends { readonly metadata: { readonly name: string } }>(crd: A): A {
  const { labels } = crd.metadata as { readonly labels?: object };
  return { ...crd, metadata: { ...crd.metadata, labels: { ...labels, [CLUSTERCTL_LABEL]: '' } } };
}
