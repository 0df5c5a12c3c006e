import { expect } from 'chai';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { keyText } from '../../pkg/kube/paths.ts';
import type { KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import { Workqueue } from '../../pkg/runtime/workqueue.ts';
import type { Caches } from '../caches.ts';
import { newCaches } from '../caches.ts';
import type { Affects } from '../identities/identities.ts';
import { ProfileObjects } from './objects.ts';
import type { SiblingNews } from './reasons.ts';
import type { Api } from './testing/api.ts';
import { newApi } from './testing/api.ts';
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

describe('the watches', () => {
  let api: Api;
  let caches: Caches;
  let queue: Workqueue;
  let objects: ProfileObjects;
  let identitiesChanged: (affects: Affects) => void;
  let asked: string[];
  let awaiting: ReadonlySet<string>;

  beforeEach(() => {
    api = newApi();
    const { client, clock, random } = api;
    caches = newCaches({ client, clock, random, logger: new MemoryLogger() });
    queue = new Workqueue({ clock });
    objects = new ProfileObjects({ client, store: caches.profiles, onNews: (key) => queue.add(key) });
    asked = [];
    awaiting = new Set();
    connectWatches({
      caches,
      queue,
      objects,
      random: { next: () => 0.5, uuid: () => random.uuid() },
      resync: HOUR,
      identities: { onChange: (handler) => void (identitiesChanged = handler) },
      awaitsSibling: (key: ObjectKey, news: SiblingNews) => {
        asked.push(`${keyText(key)} ${news}`);
        return awaiting.has(key.name);
      },
    });
  });

  /** The objects that are to be looked at now, in order; none of them is left in the queue. */
  async function queued(): Promise<readonly string[]> {
    const names: string[] = [];
    while (queue.length > 0) {
      const key = await queue.get();
      if (key === undefined) break;
      names.push(key.name);
      queue.done(key);
    }
    return names;
  }

  /** Everything is listed, and what came of that is done. */
  async function listed(...profiles: readonly KubeObject[]): Promise<void> {
    caches.controlPlanes.replaceAll([controlPlane()], `${++version}`);
    caches.clusters.replaceAll([cluster()], `${++version}`);
    caches.profiles.replaceAll(profiles, `${++version}`);
    await queued();
    asked.length = 0;
  }

  describe('after a start', () => {
    it('look at what is not at rest at once, and at what is at rest when its time has come', async () => {
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
      expect(await queued()).to.have.members(['new', 'behind', 'deleted', 'paused', 'failing']);
      await api.clock.advance(HOUR / 2 - 1);
      expect(await queued()).to.deep.equal([]);
      await api.clock.advance(1);
      expect(await queued()).to.deep.equal(['ready']);
    });

    it('take the first list of clusters and control planes for no news of objects at rest', async () => {
      caches.profiles.replaceAll([profile('ready', {}, READY)], '200');
      caches.clusters.replaceAll([cluster()], '201');
      caches.controlPlanes.replaceAll([controlPlane()], '202');
      expect(await queued()).to.deep.equal([]);
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
      it(`look at once at what was paused meanwhile: ${order.join(' listed before ')}`, async () => {
        for (const kind of order) listing[kind]();
        expect(await queued()).to.have.members(['ready', 'annotated']);
      });

    it('wake who waited for a kind once it can be read, also after it could not for a while', async () => {
      caches.profiles.replaceAll([profile('ready', {}, READY), profile('waiting')], '200');
      await queued();
      caches.clusters.replaceAll([], '201');
      expect(await queued()).to.deep.equal(['waiting']);
      caches.clusters.markUnknown('the kind is not served');
      expect(await queued()).to.deep.equal([]);
      caches.clusters.replaceAll([], '202');
      expect(await queued()).to.deep.equal(['waiting']);
    });
  });

  describe('on an object', () => {
    const news: readonly (readonly [string, () => KubeObject])[] = [
      ['its spec', () => profile('web', { generation: 2 })],
      ['its deletion', () => profile('web', { deletionTimestamp: DELETED_AT })],
      ['its labels', () => profile('web', { labels: { a: 'x' } })],
      ['its annotations', () => profile('web', { annotations: { 'cluster.x-k8s.io/paused': '' } })],
      ['its finalizers', () => profile('web', { finalizers: [] })],
      ['its owner references', () => profile('web', { ownerReferences: [] })],
    ];
    for (const [what, changed] of news) {
      it(`look at it when ${what} changed`, async () => {
        await listed(profile('web'));
        caches.profiles.upsert(changed());
        expect(await queued()).to.deep.equal(['web']);
      });
    }

    it('look at it when it is new, and when it is gone', async () => {
      await listed();
      caches.profiles.upsert(profile('web'));
      expect(await queued()).to.deep.equal(['web']);
      caches.profiles.remove(profile('web'));
      expect(await queued()).to.deep.equal(['web']);
    });

    it('take a change of status alone for no news', async () => {
      await listed(profile('web'));
      caches.profiles.upsert(profile('web', {}, READY));
      expect(await queued()).to.deep.equal([]);
    });

    it('take our own write for no news', async () => {
      const made = api.put({ metadata: { finalizers: [] } });
      const raw = await api.client.get(
        { group: 'infrastructure.cluster.x-k8s.io', version: 'v1beta2', plural: 'awsfargateprofiles' },
        { namespace: 'team-a', name: 'web' },
        { signal: new AbortController().signal },
      );
      await listed(...(raw === undefined ? [] : [raw]));
      const patch = { metadata: { labels: { ours: 'x' } } };
      await objects.patchMetadata(made, patch, new AbortController().signal);
      expect(await queued()).to.deep.equal([]);
      const theirs = api.change(made, { metadata: { labels: { theirs: 'x' } } });
      caches.profiles.upsert({ ...theirs });
      expect(await queued(), 'another’s write is').to.deep.equal(['web']);
    });
  });

  describe('on siblings', () => {
    it('ask those of the same cluster when one has gone, and wake who waited for that', async () => {
      await listed(profile('a'), profile('b'), profile('c'), profile('other', {}, {}, { clusterName: 'staging' }));
      awaiting = new Set(['b', 'other']);
      caches.profiles.remove(profile('a'));
      expect(await queued()).to.have.members(['a', 'b']);
      expect(asked).to.deep.equal(['team-a/b gone', 'team-a/c gone']);
    });

    it('ask them when one has changed', async () => {
      await listed(profile('a'), profile('b'));
      awaiting = new Set(['b']);
      caches.profiles.upsert(profile('a', { generation: 2 }));
      expect(await queued()).to.have.members(['a', 'b']);
      expect(asked).to.include('team-a/b changed');
    });

    it('ask nobody when something changed that others do not go by', async () => {
      await listed(profile('a'), profile('b'));
      caches.profiles.upsert(profile('a', { labels: { a: 'x' } }));
      expect(asked).to.deep.equal([]);
    });
  });

  describe('on the Cluster', () => {
    const rows: readonly (readonly [what: string, changed: () => KubeObject, isNews: boolean])[] = [
      ['that it is paused', () => cluster({ paused: true }), true],
      ['that it is being deleted', () => cluster({}, { deletionTimestamp: DELETED_AT }), true],
      ['that it names another control plane', () => cluster({ controlPlaneRef: { name: 'other' } }), true],
      ['that it was made anew', () => cluster({}, { uid: 'uid-of-another' }), true],
      ['that it is read in another version', () => cluster({}, {}, 'cluster.x-k8s.io/v1beta1'), true],
      ['a label', () => cluster({}, { labels: { a: 'x' } }), false],
      ['its topology', () => cluster({ topology: { version: 'v1.36.0' } }), false],
    ];
    for (const [what, changed, isNews] of rows) {
      it(`take ${what} for ${isNews ? 'news' : 'no news'}`, async () => {
        await listed(profile('web', {}, READY), profile('other', {}, READY, { clusterName: 'staging' }));
        caches.clusters.upsert(changed());
        expect(await queued()).to.deep.equal(isNews ? ['web'] : []);
      });
    }

    it('take its coming and going for news', async () => {
      await listed(profile('web', {}, READY));
      caches.clusters.remove(cluster());
      expect(await queued()).to.deep.equal(['web']);
      caches.clusters.upsert(cluster());
      expect(await queued()).to.deep.equal(['web']);
    });
  });

  describe('on the control plane', () => {
    const rows: readonly (readonly [what: string, changed: () => KubeObject, isNews: boolean])[] = [
      ['that it is ready', () => controlPlane({}, { ready: false }), true],
      ['that it is being deleted', () => controlPlane({}, { ready: true }, { deletionTimestamp: DELETED_AT }), true],
      ['its name in EKS', () => controlPlane({ eksClusterName: 'x' }), true],
      ['its region', () => controlPlane({ region: 'eu-north-1' }), true],
      ['its partition, which its region tells', () => controlPlane({ partition: 'aws-cn' }), false],
      ['its identity', () => controlPlane({ identityRef: { kind: 'k', name: 'n' } }), true],
      ['its tags', () => controlPlane({ additionalTags: { a: 'x' } }), true],
      ['its subnets', () => controlPlane({ network: { subnets: [{ id: 'subnet-0a' }] } }), true],
      ['its version', () => controlPlane({ version: 'v1.36' }), false],
      ['other parts of its network', () => controlPlane({ network: { vpc: { id: 'vpc-1' } } }), false],
      ['its conditions', () => controlPlane({}, { ready: true, conditions: [{}] }), false],
      ['its finalizers', () => controlPlane({}, { ready: true }, { finalizers: ['x'] }), false],
    ];
    for (const [what, changed, isNews] of rows) {
      it(`take ${what} for ${isNews ? 'news' : 'no news'}`, async () => {
        await listed(profile('web', {}, READY), profile('other', {}, READY, { clusterName: 'staging' }));
        caches.controlPlanes.upsert(changed());
        expect(await queued()).to.deep.equal(isNews ? ['web'] : []);
      });
    }
  });

  describe('on identities', () => {
    const TENANT = { kind: 'AWSClusterRoleIdentity', name: 'tenant' };
    const affects: Affects = ({ kind, name }, namespace) =>
      kind === TENANT.kind && name === TENANT.name && namespace === 'team-a';

    it('look at who works with what changed', async () => {
      await listed(profile('web', {}, READY), profile('other', {}, READY, { clusterName: 'staging' }));
      caches.controlPlanes.upsert(controlPlane({ identityRef: TENANT }));
      await queued();
      identitiesChanged(affects);
      expect(await queued()).to.deep.equal(['web']);
    });

    it('look at who was provisioned with it, where the control plane is gone', async () => {
      await listed(profile('web', {}, { ...READY, identityRef: TENANT }));
      caches.controlPlanes.remove(controlPlane());
      await queued();
      identitiesChanged(affects);
      expect(await queued()).to.deep.equal(['web']);
    });

    it('look at nobody else', async () => {
      await listed(profile('web', {}, READY));
      identitiesChanged(affects);
      expect(await queued()).to.deep.equal([]);
    });
  });
});
