import { expect } from 'chai';
import { Reflector, Store } from 'controller-runtime/cache';
import { findServed, keyOf, keyText } from 'controller-runtime/client';
import { type Clock, systemClock, systemRandom } from 'controller-runtime/env';
import { MemoryLogger, VirtualClock } from 'controller-runtime/testing';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { acquireControlPlane } from '../../envtest/control-plane/pool.ts';
import { applyCrds } from '../../envtest/clients/crds.ts';
import { eventually } from '../../support/eventually.ts';
import { Gate } from '../../support/gate.ts';
import { WITH_CRDS } from '../../world/world.ts';
import { connectThroughProxy, crdOf, type Connected } from './connect.ts';

const GROUP = 'reflector.example.org';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const onlyV1 = { v1: { served: true, storage: true } };

// pkg/controller-runtime/cache has the tests with a fake API server.
describe('a Reflector with a real API server', () => {
  let controlPlane: ControlPlane;
  let connected: Connected;
  let stop: () => Promise<void>;

  before(async () => {
    controlPlane = await acquireControlPlane(WITH_CRDS);
    await applyCrds(controlPlane.api, crdOf(GROUP, 'widgets', 'Widget', onlyV1));
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

  function startReflector(plural: string, clock: Clock = systemClock) {
    const { client } = connected;
    const logger = new MemoryLogger();
    const store = new Store({ name: `${plural}.${GROUP}`, logger });
    const changes: string[] = [];
    store.onChange(({ type, object }) => changes.push(`${type} ${object.metadata.name}`));
    const resolve = (signal: AbortSignal) =>
      findServed(client, { group: GROUP, plural, versions: ['v2', 'v1'] }, signal);
    const reflector = new Reflector({ client, store, resolve, clock, random: systemRandom, logger });
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
      eventually(() => expect(names()).to.deep.equal(expected.map((name) => `default/${name}`)));
    return { store, reflector, changes, shows };
  }

  const pathOf = (plural: string, version = 'v1') => `/apis/${GROUP}/${version}/namespaces/default/${plural}`;
  const create = (plural: string, name: string, version = 'v1') =>
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

  /** Holds back the next watch of the reflector until the test opens the returned gate. */
  function holdWatch(): Gate {
    const gate = new Gate('the watch of the reflector');
    connected.before = async ({ path }) => {
      if (isWatch(path)) await gate.pass();
    };
    return gate;
  }

  it('lists again after the history was compacted, and reports objects that have vanished', async () => {
    await clear('widgets');
    await create('widgets', 'kept');
    await create('widgets', 'lost');
    const { store, shows, changes } = startReflector('widgets');
    await shows('kept', 'lost');
    await create('widgets', 'seen');
    await shows('kept', 'lost', 'seen');
    const watch = holdWatch();
    connected.proxy.cut();
    await watch.waitForArrival();
    await controlPlane.api.delete(`${pathOf('widgets')}/lost`);
    await create('widgets', 'new');
    await controlPlane.compactHistory();
    changes.length = 0;
    watch.open();
    await shows('kept', 'new', 'seen');
    expect(changes).to.have.members(['deleted lost', 'added new']);
    expect(store.synced).to.equal(true);
    expect(connected.requests.filter(isList)).to.have.length(2);
  });

  it('opens the watch again without a list when a proxy has swallowed it for 90 s', async () => {
    await clear('widgets');
    const clock = new VirtualClock();
    const { reflector, shows } = startReflector('widgets', clock);
    await eventually(() => reflector.state.kind === 'watching');
    await create('widgets', 'before');
    await shows('before');
    connected.proxy.swallow();
    // The client closes connections that are idle for 60 s, but the clock of this test stands still. A request that
    // gets no answer closes an idle connection, too.
    for (let idle = connected.proxy.accepted - 1; idle > 0; idle--)
      await connected.client.discover('/api', { signal: AbortSignal.timeout(500) }).catch(() => {});
    await create('widgets', 'during');
    await clock.advance(89_999);
    expect(connected.requests.filter(isWatch)).to.have.length(1);
    await clock.advance(1);
    await shows('before', 'during');
    expect(connected.requests.filter(isWatch)).to.have.length(2);
    expect(connected.requests.filter(isList)).to.have.length(1);
  });

  it('restarts a list of several pages when a page token has expired', async () => {
    await clear('widgets');
    const all = Array.from({ length: 502 }, (_, index) => `w${String(index).padStart(3, '0')}`);
    await Promise.all(all.map((name) => create('widgets', name)));
    let isFirst = true;
    connected.before = async ({ path }) => {
      if (!path.includes('continue=') || !isFirst) return;
      isFirst = false;
      await controlPlane.api.delete(`${pathOf('widgets')}/w000`);
      await controlPlane.compactHistory();
    };
    const { shows, changes } = startReflector('widgets');
    await shows(...all.slice(1));
    expect(connected.requests.filter(isList), 'two pages of each of two lists').to.have.length(4);
    expect(changes.filter((change) => change === 'added w000')).to.deep.equal([]);
    await clear('widgets');
  });

  it('finds a kind that is installed later, follows it to another version, and empties when the kind is removed', async () => {
    const { store, shows, reflector, changes } = startReflector('gadgets');
    await eventually(() => reflector.state.kind === 'unserved');
    expect(store.lookup({ namespace: 'default', name: 'a' })).to.deep.equal({
      kind: 'unknown',
      obstacle: { kind: 'notServed', resource: `gadgets.${GROUP}` },
      reason: `the API server does not serve gadgets.${GROUP}`,
    });

    await applyCrds(controlPlane.api, crdOf(GROUP, 'gadgets', 'Gadget', onlyV1));
    await create('gadgets', 'a');
    // While the API server does not serve a kind, the reflector asks for it after increasing delays of up to 30 s.
    await eventually(() => store.synced);
    await shows('a');

    const upgraded = { v1: { served: false, storage: true }, v2: { served: true, storage: false } };
    await applyCrds(controlPlane.api, crdOf(GROUP, 'gadgets', 'Gadget', upgraded));
    await eventually(() => expect(connected.requests.at(-1)).to.match(/\/v2\/gadgets\?watch=true/));
    await create('gadgets', 'b', 'v2');
    await shows('a', 'b');
    expect(changes, 'the other version of an object is an update').to.deep.equal(['added a', 'updated a', 'added b']);

    await controlPlane.api.delete(`${CRDS}/gadgets.${GROUP}`);
    await eventually(() => reflector.state.kind === 'unserved');
    expect(store.list().kind).to.equal('unknown');
  });
});
