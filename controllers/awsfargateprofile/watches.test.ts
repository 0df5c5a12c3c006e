import { expect } from 'chai';
import { keyOf, keyText, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import { Workqueue } from 'controller-runtime/queue';
import { MemoryLogger } from 'controller-runtime/testing';
import { type Caches, BY_NAMESPACE, newCaches } from '../shared/caches.ts';
import type { IdentityUsePredicate } from '../identities/identities.ts';
import { ProfileWriter } from '../shared/profile-writer.ts';
import type { SiblingChange } from './reasons/reasons.ts';
import { type Api, newApi } from './testing/api.ts';
import { connectWatches } from './watches.ts';

const HOUR = 3_600_000;
const DELETED_AT = '2026-11-21T03:00:00Z';

type Fields = Readonly<Record<string, unknown>>;

let version = 100;
const object = (kind: string, apiVersion: string, name: string, metadata: Fields, rest: Fields): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: 'team-a', uid: `uid-of-${name}`, resourceVersion: `${++version}`, ...metadata },
  ...rest,
});

const profile = (name: string, metadata: Fields = {}, status: Fields = {}, spec: Fields = {}): KubeObject =>
  object(
    'AWSFargateProfile',
    'infrastructure.cluster.x-k8s.io/v1beta2',
    name,
    { generation: 1, finalizers: ['f'], ...metadata },
    { spec: { clusterName: 'prod', ...spec }, status },
  );

const cluster = (spec: Fields = {}, metadata: Fields = {}, apiVersion = 'cluster.x-k8s.io/v1beta2'): KubeObject =>
  object('Cluster', apiVersion, 'prod', metadata, {
    spec: {
      controlPlaneRef: {
        apiGroup: 'controlplane.cluster.x-k8s.io',
        kind: 'AWSManagedControlPlane',
        name: 'prod-control-plane',
      },
      ...spec,
    },
  });

const controlPlane = (spec: Fields = {}, status: Fields = { ready: true }, metadata: Fields = {}): KubeObject =>
  object('AWSManagedControlPlane', 'controlplane.cluster.x-k8s.io/v1beta2', 'prod-control-plane', metadata, {
    spec: { region: 'eu-west-1', ...spec },
    status,
  });

const READY: Fields = { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True' }] };

/** The annotation with which clusterctl move marks an object that it is about to delete. */
const MARKED = { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' };

describe('connectWatches', () => {
  let api: Api;
  let caches: Caches;
  let queue: Workqueue;
  let profileWriter: ProfileWriter;
  let identitiesChanged: (affects: IdentityUsePredicate, namespace?: string) => void;
  let siblingChanges: string[];
  let refreshed: string[];
  let waitingSiblings: ReadonlySet<string>;

  beforeEach(() => {
    api = newApi();
    const { client, clock, random } = api;
    caches = newCaches({ client, clock, random, logger: new MemoryLogger() });
    queue = new Workqueue({ clock });
    profileWriter = new ProfileWriter({
      client,
      store: caches.profiles,
      profiles: caches.typed.profiles,
      onForeignChange: (key) => queue.add(key),
    });
    siblingChanges = [];
    refreshed = [];
    waitingSiblings = new Set();
    connectWatches({
      caches,
      queue,
      clusterQueues: { refresh: (change) => void refreshed.push(change.object.metadata.name) },
      clock,
      profileWriter,
      random: { next: () => 0.5, uuid: () => random.uuid() },
      resync: HOUR,
      identities: { onChange: (handler) => void (identitiesChanged = handler) },
      retryStore: {
        endSiblingWaits: (namespace: string, change: SiblingChange, isSibling: (key: ObjectKey) => boolean) => {
          const listing = caches.profiles.byIndex(BY_NAMESPACE, namespace);
          const siblings = (listing.kind === 'listed' ? listing.objects : []).map(keyOf).filter(isSibling);
          siblingChanges.push(...siblings.map((key) => `${keyText(key)} ${change}`));
          return siblings.filter(({ name }) => waitingSiblings.has(name));
        },
      },
    });
  });

  async function takeQueued(): Promise<readonly string[]> {
    const names: string[] = [];
    while (queue.length > 0) {
      const key = await queue.get();
      if (key === undefined) break;
      names.push(key.name);
      queue.done(key);
    }
    return names;
  }

  async function fillCaches(...profiles: readonly KubeObject[]): Promise<void> {
    caches.controlPlanes.replaceAll([controlPlane()], `${++version}`);
    caches.clusters.replaceAll([cluster()], `${++version}`);
    caches.profiles.replaceAll(profiles, `${++version}`);
    await takeQueued();
    siblingChanges.length = 0;
  }

  describe('after a start', () => {
    it('enqueues objects at rest within the resync interval, and others at once', async () => {
      caches.profiles.replaceAll(
        [
          profile('ready', {}, READY),
          profile('new'),
          profile('behind', { generation: 2 }, READY),
          profile('deleted', { deletionTimestamp: DELETED_AT }, READY),
          profile(
            'paused',
            {},
            {
              observedGeneration: 1,
              conditions: [
                { type: 'Ready', status: 'True' },
                { type: 'Paused', status: 'True' },
              ],
            },
          ),
          profile('failing', {}, { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'False' }] }),
        ],
        '200',
      );
      expect(await takeQueued()).to.have.members(['new', 'behind', 'deleted', 'paused', 'failing']);
      await api.clock.advance(HOUR / 2 - 1);
      expect(await takeQueued()).to.deep.equal([]);
      await api.clock.advance(1);
      expect(await takeQueued()).to.deep.equal(['ready']);
    });

    it('enqueues no object at rest for the first list of Clusters and control planes', async () => {
      caches.profiles.replaceAll([profile('ready', {}, READY)], '200');
      caches.clusters.replaceAll([cluster()], '201');
      caches.controlPlanes.replaceAll([controlPlane()], '202');
      expect(await takeQueued()).to.deep.equal([]);
    });

    const listing = {
      profiles: () =>
        caches.profiles.replaceAll(
          [
            profile('ready', {}, READY),
            profile('elsewhere', {}, READY, { clusterName: 'other' }),
            profile('annotated', { annotations: { 'cluster.x-k8s.io/paused': '' } }, READY, { clusterName: 'other' }),
          ],
          '200',
        ),
      clusters: () => caches.clusters.replaceAll([cluster({ paused: true })], '201'),
    };
    for (const order of [
      ['profiles', 'clusters'],
      ['clusters', 'profiles'],
    ] as const)
      it(`enqueues at once the objects that were paused meanwhile: ${order.join(' listed before ')}`, async () => {
        for (const kind of order) listing[kind]();
        expect(await takeQueued()).to.have.members(['ready', 'annotated']);
      });

    it('enqueues objects that are not at rest each time that a kind becomes readable', async () => {
      caches.profiles.replaceAll([profile('ready', {}, READY), profile('waiting')], '200');
      await takeQueued();
      caches.clusters.replaceAll([], '201');
      expect(await takeQueued()).to.deep.equal(['waiting']);
      caches.clusters.markUnknown({ reason: 'the kind is not served' });
      expect(await takeQueued()).to.deep.equal([]);
      caches.clusters.replaceAll([], '202');
      expect(await takeQueued()).to.deep.equal(['waiting']);
    });
  });

  describe('for a change of', () => {
    const web = (metadata: Fields, status: Fields = READY) => caches.profiles.upsert(profile('web', metadata, status));
    const ofCluster = (...parts: Parameters<typeof cluster>) => caches.clusters.upsert(cluster(...parts));
    const ofPlane = (...parts: Parameters<typeof controlPlane>) => caches.controlPlanes.upsert(controlPlane(...parts));
    const leaving = { deletionTimestamp: DELETED_AT };
    const ready = { ready: true };
    const relevant: Readonly<Record<string, () => unknown>> = {
      'the spec of the object': () => web({ generation: 2 }),
      'the deletion of the object': () => web(leaving),
      'the labels of the object': () => web({ labels: { a: 'x' } }),
      'the annotations of the object': () => web({ annotations: { 'cluster.x-k8s.io/paused': '' } }),
      'the finalizers of the object': () => web({ finalizers: [] }),
      'the owner references of the object': () => web({ ownerReferences: [] }),
      'spec.paused of the Cluster': () => ofCluster({ paused: true }),
      'the deletion of the Cluster': () => ofCluster({}, leaving),
      'the reference to the control plane': () => ofCluster({ controlPlaneRef: { name: 'other' } }),
      'the uid of the Cluster': () => ofCluster({}, { uid: 'uid-of-another' }),
      'the API version of the Cluster': () => ofCluster({}, {}, 'cluster.x-k8s.io/v1beta1'),
      'the mark of clusterctl move on the Cluster': () => ofCluster({}, { annotations: MARKED }),
      'the Cluster, which is gone': () => caches.clusters.remove(cluster()),
      'the readiness of the control plane': () => ofPlane({}, { ready: false }),
      'the deletion of the control plane': () => ofPlane({}, ready, leaving),
      'the mark of clusterctl move on the control plane': () => ofPlane({}, ready, { annotations: MARKED }),
      'the name of the EKS cluster': () => ofPlane({ eksClusterName: 'x' }),
      'the region': () => ofPlane({ region: 'eu-north-1' }),
      'the identity': () => ofPlane({ identityRef: { kind: 'k', name: 'n' } }),
      'the tags of the control plane': () => ofPlane({ additionalTags: { a: 'x' } }),
      'the subnets of the control plane': () => ofPlane({ network: { subnets: [{ id: 'subnet-0a' }] } }),
    };
    const irrelevant: Readonly<Record<string, () => unknown>> = {
      'the status of the object alone': () => web({}, {}),
      'the labels of the Cluster': () => ofCluster({}, { labels: { a: 'x' } }),
      'the topology of the Cluster': () => ofCluster({ topology: { version: 'v1.36.0' } }),
      'the partition, because the region determines it': () => ofPlane({ partition: 'aws-cn' }),
      'the version of the control plane': () => ofPlane({ version: 'v1.36' }),
      'the VPC': () => ofPlane({ network: { vpc: { id: 'vpc-1' } } }),
      'the conditions of the control plane': () => ofPlane({}, { ready: true, conditions: [{}] }),
      'the finalizers of the control plane': () => ofPlane({}, ready, { finalizers: ['x'] }),
    };
    for (const [changes, queued] of [
      [relevant, ['web']],
      [irrelevant, []],
    ] as const)
      for (const [what, change] of Object.entries(changes))
        it(`${what} enqueues ${queued.length === 0 ? 'nothing' : 'the object, and no object of another Cluster'}`, async () => {
          await fillCaches(profile('web', {}, READY), profile('other', {}, READY, { clusterName: 'staging' }));
          change();
          expect(await takeQueued()).to.deep.equal(queued);
        });
  });

  describe('for an AWSFargateProfile', () => {
    it('enqueues the object when it is new and when it is gone', async () => {
      await fillCaches();
      caches.profiles.upsert(profile('web'));
      expect(await takeQueued()).to.deep.equal(['web']);
      caches.profiles.remove(profile('web'));
      expect(await takeQueued()).to.deep.equal(['web']);
    });

    it('ignores a write of this controller', async () => {
      const made = api.put({ metadata: { finalizers: [] } });
      const raw = await api.client.get(
        { group: 'infrastructure.cluster.x-k8s.io', version: 'v1beta2', plural: 'awsfargateprofiles' },
        { namespace: 'team-a', name: 'web' },
        { signal: new AbortController().signal },
      );
      await fillCaches(...(raw === undefined ? [] : [raw]));
      const patch = { metadata: { labels: { ours: 'x' } } };
      await profileWriter.patchMetadata(made, patch, new AbortController().signal);
      expect(await takeQueued()).to.deep.equal([]);
      const theirs = api.change(made, { metadata: { labels: { theirs: 'x' } } });
      caches.profiles.upsert({ ...theirs });
      expect(await takeQueued(), 'after a write of another client').to.deep.equal(['web']);
    });
  });

  describe('for the siblings of an AWSFargateProfile', () => {
    it('enqueues the waiting siblings of the same Cluster when the object is gone', async () => {
      await fillCaches(profile('a'), profile('b'), profile('c'), profile('other', {}, {}, { clusterName: 'staging' }));
      waitingSiblings = new Set(['b', 'other']);
      caches.profiles.remove(profile('a'));
      expect(await takeQueued()).to.have.members(['a', 'b']);
      expect(siblingChanges).to.deep.equal(['team-a/b gone', 'team-a/c gone']);
    });

    it('enqueues the waiting siblings when the object has changed', async () => {
      await fillCaches(profile('a'), profile('b'));
      waitingSiblings = new Set(['b']);
      caches.profiles.upsert(profile('a', { generation: 2 }));
      expect(await takeQueued()).to.have.members(['a', 'b']);
      expect(siblingChanges).to.include('team-a/b changed');
    });

    it('ignores a change of labels, which no reconcile of a sibling reads', async () => {
      await fillCaches(profile('a'), profile('b'));
      caches.profiles.upsert(profile('a', { labels: { a: 'x' } }));
      expect(siblingChanges).to.deep.equal([]);
    });
  });

  it('enqueues an object when the answer to a write of this process has fields of spec that the watch lacked', async () => {
    await fillCaches();
    const stored = api.put({ metadata: { name: 'web' } });
    caches.profiles.replaceAll([{ ...stored, spec: {} }], stored.metadata.resourceVersion);
    await takeQueued();
    await profileWriter.patchStatus(stored, { ready: false }, new AbortController().signal);
    expect(await takeQueued()).to.deep.equal(['web']);
  });

  it('places an object in its queue again at each change, of status too and of its own writes, and when it is gone', async () => {
    await fillCaches();
    refreshed.length = 0;
    const web = profile('web');
    for (const change of [web, profile('web', {}, { ready: false }), profile('web', { deletionTimestamp: DELETED_AT })])
      caches.profiles.upsert(change);
    caches.profiles.upsert(profile('undecodable', {}, {}, { clusterName: 7 }));
    caches.profiles.replaceWith(profile('web', { finalizers: [] }));
    caches.profiles.remove(profile('web'));
    expect(refreshed).to.deep.equal(['web', 'web', 'web', 'undecodable', 'web', 'web']);
  });

  it('enqueues its profiles when a Cluster appears', async () => {
    await fillCaches(profile('web', {}, READY));
    caches.clusters.remove(cluster());
    await takeQueued();
    caches.clusters.upsert(cluster());
    expect(await takeQueued()).to.deep.equal(['web']);
  });

  describe('for an identity', () => {
    const TENANT = { kind: 'AWSClusterRoleIdentity', name: 'tenant' };
    const affects: IdentityUsePredicate = ({ kind, name }, namespace) =>
      kind === TENANT.kind && name === TENANT.name && namespace === 'team-a';

    it('enqueues the objects whose control plane names the identity', async () => {
      await fillCaches(profile('web', {}, READY), profile('other', {}, READY, { clusterName: 'staging' }));
      caches.controlPlanes.upsert(controlPlane({ identityRef: TENANT }));
      await takeQueued();
      identitiesChanged(affects);
      expect(await takeQueued()).to.deep.equal(['web']);
    });

    it('enqueues the objects that were provisioned with the identity when their control plane is gone', async () => {
      await fillCaches(profile('web', {}, { ...READY, identityRef: TENANT }));
      caches.controlPlanes.remove(controlPlane());
      await takeQueued();
      identitiesChanged(affects);
      expect(await takeQueued()).to.deep.equal(['web']);
    });

    it('enqueues the objects without an identity for AWSClusterControllerIdentity default', async () => {
      const withoutCluster = profile('alone', {}, READY, { clusterName: 'gone' });
      await fillCaches(profile('web', {}, { ...READY, identityRef: TENANT }), withoutCluster);
      identitiesChanged(({ kind, name }) => kind === 'AWSClusterControllerIdentity' && name === 'default');
      expect(await takeQueued()).to.have.members(['web', 'alone']);
    });

    it('looks only at the objects of the namespace after a change of a namespace', async () => {
      const inTeamB = { namespace: 'team-b' };
      await fillCaches(profile('web', {}, { ...READY, identityRef: TENANT }));
      for (let index = 0; index < 100; index++)
        caches.profiles.upsert(profile(`other-${index}`, inTeamB, { ...READY, identityRef: TENANT }));
      await takeQueued();
      const asked: string[] = [];
      identitiesChanged((_identity, namespace) => asked.push(namespace) > 0, 'team-a');
      expect(await takeQueued()).to.deep.equal(['web']);
      expect(asked).to.deep.equal(['team-a']);
    });

    it('ignores objects that do not use the identity', async () => {
      await fillCaches(profile('web', {}, READY));
      identitiesChanged(affects);
      expect(await takeQueued()).to.deep.equal([]);
    });
  });
});
