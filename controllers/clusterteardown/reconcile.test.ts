import { expect } from 'chai';
import { ClusterName } from '../../api/names.ts';
import { CLUSTER_KIND, CONTROL_PLANE_GROUP, CONTROL_PLANE_KIND } from '../../api/external/index.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { errorMessage } from '../../pkg/env/error-text.ts';
import { keyOf } from '../../pkg/kube/paths.ts';
import { Store } from '../../pkg/kube/store.ts';
import type { FakeKind } from '../../pkg/kube/testing/fake-api-server.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { Requeue } from '../../pkg/runtime/types.ts';
import type { Api } from '../awsfargateprofile/testing/api.ts';
import { CLUSTER, CONTROL_PLANE, PROFILE_KIND, newApi } from '../awsfargateprofile/testing/api.ts';
import { BY_CLUSTER, BY_OWNER, clusterOf, ownersOf } from '../caches.ts';
import { GUARD_FINALIZER, Guard } from '../guard.ts';
import type { ServedVerdict } from '../served-schema.ts';
import { TeardownReconciler } from './reconcile.ts';

const KEY = { namespace: 'team-a', name: 'prod' };
const CONTROL_PLANES = { group: CONTROL_PLANE_GROUP, version: 'v1beta2', plural: CONTROL_PLANE.plural };
const REFERENCE = { apiGroup: CONTROL_PLANE_GROUP, kind: CONTROL_PLANE_KIND, name: 'prod-control-plane' };
/** As CAPA's own: it keeps what is being deleted. */
const THEIRS = 'awsmanagedcontrolplane.controlplane.cluster.x-k8s.io';

const OF_CLUSTER = { 'cluster.x-k8s.io/cluster-name': 'prod' };

describe('TeardownReconciler', () => {
  let api: Api;
  let stores: { readonly profiles: Store; readonly clusters: Store; readonly controlPlanes: Store };
  let told: string[];
  let remaining: () => number;
  let schema: ServedVerdict;
  let reconciler: TeardownReconciler;

  beforeEach(() => {
    api = newApi();
    const logger = new MemoryLogger();
    stores = {
      profiles: new Store({ name: 'profiles', logger, indexes: { [BY_CLUSTER]: clusterOf } }),
      clusters: new Store({ name: 'clusters', logger }),
      controlPlanes: new Store({ name: 'control planes', logger, indexes: { [BY_OWNER]: ownersOf } }),
    };
    told = [];
    remaining = () => 15_000;
    schema = { kind: 'ours' };
    const { client, clock } = api;
    reconciler = new TeardownReconciler({
      client,
      clock,
      ...stores,
      guard: new Guard({ client, controlPlanes: stores.controlPlanes, resource: () => CONTROL_PLANES }),
      schema: { look: async () => schema },
      leadership: { remaining: () => remaining() },
      recorder: { record: ({ metadata }, _type, reason, words) => told.push(`${metadata.name} ${reason}: ${words}`) },
    });
  });

  const all = (kind: FakeKind): readonly KubeObject[] => api.server.storage.list(kind, KEY.namespace);

  /** The caches see what there is now. */
  function sync(...kinds: readonly (keyof typeof stores)[]): void {
    const of = { profiles: PROFILE_KIND, clusters: CLUSTER, controlPlanes: CONTROL_PLANE };
    for (const name of kinds.length > 0 ? kinds : (['profiles', 'clusters', 'controlPlanes'] as const))
      stores[name].replaceAll(all(of[name]), String(api.server.storage.newest));
  }
  const pass = (): Promise<Requeue> =>
    reconciler.reconcile(KEY, { logger: new MemoryLogger(), signal: new AbortController().signal });
  const writes = (): readonly string[] =>
    api.server.requests.flatMap(({ method, path }) =>
      method === 'GET' ? [] : [`${method} ${path.split('/').at(-1)}`],
    );
  const leaving = (): readonly string[] =>
    all(PROFILE_KIND).flatMap(({ metadata }) => (metadata.deletionTimestamp === undefined ? [] : [metadata.name]));
  const finalizers = (name = 'prod-control-plane'): readonly string[] =>
    all(CONTROL_PLANE).find(({ metadata }) => metadata.name === name)?.metadata.finalizers ?? [];

  /** A cluster with its control plane, which carries the guard and is being deleted. */
  function tornDown(spec: object = {}): void {
    api.putCluster({ controlPlaneRef: REFERENCE, ...spec });
    const controlPlane = api.putControlPlane({}, { labels: OF_CLUSTER, finalizers: [GUARD_FINALIZER, THEIRS] });
    api.server.storage.delete(CONTROL_PLANE, keyOf(controlPlane));
  }
  const put = (name: string, clusterName = 'prod') =>
    api.put({ metadata: { name }, spec: { clusterName: ClusterName.of(clusterName) } });

  it('deletes the profiles of a cluster that is torn down, and no others, and tells each once', async () => {
    tornDown();
    for (const name of ['web', 'batch']) put(name);
    put('elsewhere', 'stage');
    sync();
    expect(await pass()).to.deep.equal({ kind: 'done' });
    expect(leaving()).to.have.members(['web', 'batch']);
    const words =
      'DeletedWithCluster: AWSManagedControlPlane team-a/prod-control-plane is being deleted: the profile goes before its cluster';
    expect(told).to.have.members([`web ${words}`, `batch ${words}`]);
    // The cache does not show it yet.
    await pass();
    expect(told).to.have.length(2);
  });

  it('leaves a profile alone that has the name of one that it knew', async () => {
    tornDown();
    const known = put('web');
    sync();
    api.server.storage.mergePatch(PROFILE_KIND, keyOf(known), { metadata: { finalizers: [] } });
    api.server.storage.delete(PROFILE_KIND, keyOf(known));
    put('web');
    await pass();
    expect(leaving()).to.deep.equal([]);
  });

  it('names the Cluster as the cause where there is no control plane', async () => {
    const cluster = api.putCluster({}, { finalizers: ['cluster.cluster.x-k8s.io'] });
    api.server.storage.delete(CLUSTER, keyOf(cluster));
    put('web');
    sync();
    await pass();
    expect(told[0]).to.contain(`${CLUSTER_KIND} team-a/prod is being deleted`);
  });

  describe('deletes nothing', () => {
    const nothing = async (expected: Partial<Requeue>): Promise<void> => {
      expect(await pass()).to.include(expected);
      expect([writes(), told]).to.deep.equal([[], []]);
    };

    for (const missing of ['profiles', 'clusters', 'controlPlanes'] as const)
      it(`before ${missing} are listed`, async () => {
        tornDown();
        put('web');
        sync(...(['profiles', 'clusters', 'controlPlanes'] as const).filter((kind) => kind !== missing));
        await nothing({ kind: 'backoff' });
      });

    it('where the lease may have run out', async () => {
      tornDown();
      put('web');
      sync();
      remaining = () => 0;
      await nothing({ kind: 'backoff', why: 'the lease may have run out' });
    });

    it('under a foreign schema: what is to be retained may not look so', async () => {
      tornDown();
      put('web');
      sync();
      schema = { kind: 'foreign', provider: undefined, missing: [] };
      await nothing({ kind: 'after', delay: 15_000 });
    });

    it('while the Cluster is paused', async () => {
      tornDown({ paused: true });
      put('web');
      sync();
      await nothing({ kind: 'done' });
    });

    it('where the Cluster names a control plane of another kind, whatever becomes of ours', async () => {
      tornDown({ controlPlaneRef: { ...REFERENCE, kind: 'KubeadmControlPlane' } });
      put('web');
      sync();
      await nothing({ kind: 'done' });
    });

    for (const [what, kind, spec, says] of [
      [
        'the Cluster',
        CLUSTER,
        { paused: 'perhaps' },
        'Cluster team-a/prod cannot be read: spec.paused: expected boolean, got "perhaps"',
      ],
      [
        'the control plane',
        CONTROL_PLANE,
        { region: 7 },
        'AWSManagedControlPlane team-a/prod-control-plane cannot be read: spec.region: expected string, got 7',
      ],
    ] as const)
      it(`where ${what} cannot be read, which only its change can mend`, async () => {
        tornDown();
        const name = kind === CLUSTER ? 'prod' : 'prod-control-plane';
        api.server.storage.mergePatch(kind, { ...KEY, name }, { spec });
        put('web');
        sync();
        const next = await pass();
        expect(next.kind === 'terminal' && errorMessage(next.error)).to.equal(says);
        expect([writes(), told]).to.deep.equal([[], []]);
      });
  });

  it('deletes no more once the lease may have run out', async () => {
    tornDown();
    for (const name of ['web', 'batch', 'jobs']) put(name);
    sync();
    remaining = () => (leaving().length === 0 ? 15_000 : 0);
    expect(await pass()).to.include({ kind: 'backoff' });
    expect(leaving()).to.have.length(1);
  });

  describe('the guard', () => {
    it('is put on while a profile carries our finalizer, and not for others', async () => {
      api.putCluster({ controlPlaneRef: REFERENCE });
      api.putControlPlane();
      put('elsewhere', 'stage');
      api.put({ metadata: { name: 'new', finalizers: [] } });
      sync();
      await pass();
      expect(api.server.requests, 'it is not on, and the caches name nobody who needs it').to.deep.equal([]);
      put('web');
      sync();
      await pass();
      expect(finalizers()).to.deep.equal([GUARD_FINALIZER]);
      sync();
      const before = api.server.requests.length;
      await pass();
      expect(api.server.requests, 'it is on, as the caches say').to.have.length(before);
    });

    it('stays as it is while the Cluster is paused, and where the lease may have run out', async () => {
      api.putCluster({ paused: true, controlPlaneRef: REFERENCE });
      api.putControlPlane();
      put('web');
      sync();
      await pass();
      expect(finalizers()).to.deep.equal([]);
      api.server.storage.mergePatch(CLUSTER, KEY, { spec: { paused: false } });
      sync();
      remaining = () => 0;
      await pass();
      expect(finalizers()).to.deep.equal([]);
    });

    it('is taken off under a foreign schema, too', async () => {
      tornDown();
      sync();
      schema = { kind: 'foreign', provider: undefined, missing: [] };
      await pass();
      expect(finalizers()).to.deep.equal([THEIRS]);
    });

    it('is taken off once no profile is left', async () => {
      tornDown();
      sync();
      await pass();
      expect(finalizers()).to.deep.equal([THEIRS]);
    });

    for (const [what, left] of [
      ['one of the cluster', () => void put('web')],
      [
        'one that cannot be read',
        () => api.server.storage.mergePatch(PROFILE_KIND, keyOf(put('web')), { spec: { clusterName: 7 } }),
      ],
    ] as const)
      it(`stays on where a live list shows what the cache does not: ${what}`, async () => {
        tornDown();
        sync();
        left();
        expect(await pass()).to.deep.equal({ kind: 'done' });
        expect(finalizers()).to.include(GUARD_FINALIZER);
      });

    it('is taken off although another cluster has profiles', async () => {
      tornDown();
      put('elsewhere', 'stage');
      sync();
      await pass();
      expect(finalizers()).to.not.include(GUARD_FINALIZER);
    });

    it('is looked at again where somebody else changes the control plane meanwhile', async () => {
      tornDown();
      sync();
      api.server.storage.mergePatch(
        CONTROL_PLANE,
        { ...KEY, name: 'prod-control-plane' },
        { metadata: { labels: { a: 'b' } } },
      );
      expect(await pass()).to.deep.equal({ kind: 'conflict' });
      expect(finalizers()).to.include(GUARD_FINALIZER);
    });

    it('goes where the Cluster is gone, from all that say they belonged to it', async () => {
      const owner = { labels: OF_CLUSTER, finalizers: [GUARD_FINALIZER, THEIRS] };
      for (const name of ['one', 'two']) api.putControlPlane({}, { name, ...owner });
      sync();
      await pass();
      expect([finalizers('one'), finalizers('two')]).to.deep.equal([[THEIRS], [THEIRS]]);
    });

    it('goes from one that the Cluster names no longer, with the last profile', async () => {
      api.putCluster({ controlPlaneRef: REFERENCE });
      api.putControlPlane();
      api.putControlPlane({}, { name: 'former', labels: OF_CLUSTER, finalizers: [GUARD_FINALIZER, THEIRS] });
      const last = put('web');
      sync();
      await pass();
      expect(finalizers('former')).to.deep.equal([GUARD_FINALIZER, THEIRS]);
      api.server.storage.mergePatch(PROFILE_KIND, keyOf(last), { metadata: { finalizers: [] } });
      sync();
      await pass();
      expect([finalizers(), finalizers('former')]).to.deep.equal([[], [THEIRS]]);
    });

    it('is put on the control plane that the Cluster names, and not on another that says it belongs to it', async () => {
      api.putCluster({ controlPlaneRef: REFERENCE });
      api.putControlPlane();
      api.putControlPlane({}, { name: 'former', labels: OF_CLUSTER });
      put('web');
      sync();
      await pass();
      expect([finalizers(), finalizers('former')]).to.deep.equal([[GUARD_FINALIZER], []]);
    });

    it('is tried again where the API server does not take it', async () => {
      api.putCluster({ controlPlaneRef: REFERENCE });
      const controlPlane = api.putControlPlane();
      put('web');
      sync();
      api.server.storage.mergePatch(CONTROL_PLANE, keyOf(controlPlane), { metadata: { labels: { a: 'b' } } });
      api.server.intercept = ({ method }) => {
        if (method === 'PATCH')
          api.server.storage.mergePatch(CONTROL_PLANE, keyOf(controlPlane), {
            metadata: { labels: { a: `${api.random.next()}` } },
          });
        return undefined;
      };
      expect(await pass()).to.deep.equal({ kind: 'backoff', why: 'it is being changed all the time' });
    });
  });
});
