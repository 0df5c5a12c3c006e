import { expect } from 'chai';
import { systemClock, systemRandom } from '../../pkg/env/system.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { findServed } from '../../pkg/kube/discovery.ts';
import { keyText, keyOf } from '../../pkg/kube/paths.ts';
import { Reflector } from '../../pkg/kube/reflector.ts';
import { Store } from '../../pkg/kube/store.ts';
import type { KubeClient } from '../../pkg/kube/types.ts';
import { startControlPlane, type ControlPlane } from '../envtest/controlplane.ts';
import { applyCrds, type CustomResourceDefinition } from '../envtest/crds.ts';
import { eventually } from '../support/eventually.ts';
import { connectThroughProxy, type Connected } from './kube.ts';

const GROUP = 'reflector.example.org';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

function crdOf(
  plural: string,
  kind: string,
  versions: Readonly<Record<string, { readonly served: boolean; readonly storage: boolean }>>,
): CustomResourceDefinition {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: Object.entries(versions).map(([name, flags]) => ({ name, ...flags, schema })),
    },
  };
  return crd;
}

const onlyV1 = { v1: { served: true, storage: true } };

describe('Reflector on a real API server', function () {
  this.timeout(120_000);
  let controlPlane: ControlPlane;
  let connected: Connected;
  let stop: () => Promise<void>;

  before(async () => {
    controlPlane = await startControlPlane();
    await applyCrds(controlPlane.api, crdOf('widgets', 'Widget', onlyV1));
  });
  after(() => controlPlane.stop());

  beforeEach(async () => {
    connected = await connectThroughProxy(controlPlane);
    stop = () => Promise.resolve();
  });
  afterEach(async () => {
    await stop();
    await connected.close();
  });

  function start(plural: string, client = connected.client) {
    const logger = new MemoryLogger();
    const store = new Store({ name: `${plural}.${GROUP}`, logger });
    const changes: string[] = [];
    store.onChange(({ type, object }) => changes.push(`${type} ${object.metadata.name}`));
    const resolve = (signal: AbortSignal) =>
      findServed(client, { group: GROUP, plural, versions: ['v2', 'v1'] }, signal);
    const reflector = new Reflector({ client, store, resolve, clock: systemClock, random: systemRandom, logger });
    const controller = new AbortController();
    const ended = reflector.run(controller.signal);
    stop = async () => {
      controller.abort();
      await ended;
    };
    const names = () => {
      const listing = store.list();
      return listing.kind === 'unknown' ? listing.kind : listing.objects.map((object) => keyText(keyOf(object)));
    };
    const shows = (...expected: readonly string[]) =>
      eventually(() => expect(names()).to.deep.equal(expected.map((name) => `default/${name}`)), { timeoutMs: 60_000 });
    return { store, reflector, changes, shows, logger };
  }

  const pathOf = (plural: string, version = 'v1') => `/apis/${GROUP}/${version}/namespaces/default/${plural}`;
  const make = (plural: string, name: string, version = 'v1') =>
    controlPlane.api.post(pathOf(plural, version), {
      apiVersion: `${GROUP}/${version}`,
      kind: plural === 'widgets' ? 'Widget' : 'Gadget',
      metadata: { name },
    });
  const isList = (request: string) => request.startsWith(`GET /apis/${GROUP}/`) && request.includes('limit=500');
  const isWatch = (request: string) => request.includes('watch=true');
  const clear = async (plural: string) => {
    for (const { metadata } of (await controlPlane.api.list(pathOf(plural))).items)
      await controlPlane.api.delete(`${pathOf(plural)}/${metadata.name}`);
  };

  it('goes on after its connection was reset, without a new list and without losing a change', async () => {
    await clear('widgets');
    await make('widgets', 'a');
    const { store, shows, changes } = start('widgets');
    await store.whenSynced(AbortSignal.timeout(30_000));
    await shows('a');
    await eventually(() => expect(connected.requests.filter(isWatch)).to.have.length(1));
    connected.proxy.refuse();
    await make('widgets', 'b');
    await controlPlane.api.delete(`${pathOf('widgets')}/a`);
    connected.proxy.restore();
    await shows('b');
    expect(changes).to.deep.equal(['added a', 'added b', 'deleted a']);
    expect(connected.requests.filter(isList)).to.have.length(1);
  });

  it('lists anew when its version is too old for the server (410), and tells what vanished', async () => {
    await clear('widgets');
    await make('widgets', 'kept');
    await make('widgets', 'lost');
    const { store, shows, changes, logger } = start('widgets');
    await shows('kept', 'lost');
    connected.proxy.refuse();
    await controlPlane.api.delete(`${pathOf('widgets')}/lost`);
    await make('widgets', 'new');
    await controlPlane.forgetHistory();
    changes.length = 0;
    connected.proxy.restore();
    await shows('kept', 'new');
    expect(changes).to.have.members(['deleted lost', 'added new']);
    expect(store.synced).to.equal(true);
    expect(connected.requests.filter(isList)).to.have.length(2);
    expect(logger.said('The reflector starts over')).to.have.length(1);
  });

  it('starts a list of several pages again when a page token has expired', async () => {
    await clear('widgets');
    const all = Array.from({ length: 502 }, (_, index) => `w${String(index).padStart(3, '0')}`);
    await Promise.all(all.map((name) => make('widgets', name)));
    let isFirst = true;
    connected.before = async ({ path }) => {
      if (!path.includes('continue=') || !isFirst) return;
      isFirst = false;
      await controlPlane.api.delete(`${pathOf('widgets')}/w000`);
      await controlPlane.forgetHistory();
    };
    const { shows, changes } = start('widgets');
    await shows(...all.slice(1));
    expect(connected.requests.filter(isList), 'first try, its second page refused, both pages again').to.have.length(4);
    expect(changes.filter((change) => change === 'added w000')).to.deep.equal([]);
    await clear('widgets');
  });

  it('outlives a killed API server: what is known stays known, what changes afterwards is seen', async () => {
    await clear('widgets');
    await make('widgets', 'a');
    const { store, shows, reflector } = start('widgets');
    await shows('a');
    await controlPlane.stopApiServer('SIGKILL');
    await eventually(() => reflector.state.kind === 'backingOff');
    expect(store.lookup({ namespace: 'default', name: 'a' }).kind).to.equal('found');
    await controlPlane.startApiServer();
    await make('widgets', 'b');
    await shows('a', 'b');
  });

  it('finds its way back to an API server that knows less than it did, as after a restore of etcd', async () => {
    await clear('widgets');
    await make('widgets', 'a');
    const { client } = connected;
    let lists = 0;
    const fromTheFuture: KubeClient = {
      ...client,
      async list(resource, options) {
        const list = await client.list(resource, options);
        lists += 1;
        return lists > 1 ? list : { ...list, resourceVersion: String(Number(list.resourceVersion) + 1_000) };
      },
    };
    const { shows, logger, changes } = start('widgets', fromTheFuture);
    await shows('a');
    await eventually(() => expect(connected.requests.filter(isWatch)).to.have.length(1));
    await make('widgets', 'b');
    connected.proxy.cut();
    await shows('a', 'b');
    expect(logger.said('The API server knows less than it did: listing anew')).to.have.length(1);
    await make('widgets', 'c');
    await shows('a', 'b', 'c');
    expect(changes).to.deep.equal(['added a', 'added b', 'added c']);
  });

  it('starts before the API server does', async () => {
    connected.proxy.refuse();
    await clear('widgets');
    const { store, shows, reflector } = start('widgets');
    await eventually(() => reflector.state.kind === 'backingOff');
    expect(store.lookup({ namespace: 'default', name: 'a' }).kind).to.equal('unknown');
    connected.proxy.restore();
    await make('widgets', 'a');
    await shows('a');
  });

  it('finds a kind that is installed later, follows it to another version, and knows nothing once it is gone', async () => {
    const { store, shows, reflector, changes } = start('gadgets');
    await eventually(() => reflector.state.kind === 'unserved');
    expect(store.lookup({ namespace: 'default', name: 'a' })).to.deep.equal({
      kind: 'unknown',
      why: `the API server does not serve gadgets.${GROUP}`,
    });

    await applyCrds(controlPlane.api, crdOf('gadgets', 'Gadget', onlyV1));
    await make('gadgets', 'a');
    // Looked for every 10 to 30 s.
    await eventually(() => store.synced, { timeoutMs: 60_000 });
    await shows('a');

    const upgraded = { v1: { served: false, storage: true }, v2: { served: true, storage: false } };
    await applyCrds(controlPlane.api, crdOf('gadgets', 'Gadget', upgraded));
    await eventually(() => expect(connected.requests.at(-1)).to.match(/\/v2\/gadgets\?watch=true/), {
      timeoutMs: 60_000,
    });
    await make('gadgets', 'b', 'v2');
    await shows('a', 'b');
    expect(changes).to.deep.equal(['added a', 'added b']);

    await controlPlane.api.delete(`${CRDS}/gadgets.${GROUP}`);
    await eventually(() => reflector.state.kind === 'unserved', { timeoutMs: 60_000 });
    expect(store.list().kind).to.equal('unknown');
  });
});
