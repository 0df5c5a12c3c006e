import { expect } from 'chai';
import { ByteStream } from './testing/byte-stream.ts';
import { json, text } from './testing/fake-api-server.ts';
import { keyFor, newWorld, widgetKind, type World } from './testing/fixtures.ts';
import { listsOf, start, startSynced, watchesOf } from './testing/running-reflector.ts';

describe('Reflector', () => {
  it('lists all pages, tells the first list as such, then follows the watch', async () => {
    const world = newWorld();
    for (let i = 0; i < 1_001; i++) world.make(`w${String(i).padStart(4, '0')}`);
    const running = start(world);
    await running.clock.runUntil(() => running.store.synced, { limitMs: 1_000 });
    expect(listsOf(world)).to.equal(3);
    expect(running.changes).to.have.length(1_001);
    expect(running.changes.every((change) => change.endsWith('!'))).to.equal(true);

    running.changes.length = 0;
    const key = keyFor('w0500');
    const kind = world.server.kind('widgets');
    world.make('x');
    world.server.storage.mergePatch(kind, key, { spec: { size: 2 } });
    world.server.storage.delete(kind, key);
    await running.clock.settle();
    expect(running.changes).to.deep.equal(['+x', '~w0500', '-w0500']);
    expect(listsOf(world)).to.equal(3);
    await running.stop();
  });

  it('answers unknown until the whole list is in', async () => {
    const world = newWorld();
    world.make('a');
    world.server.latency = 1_000;
    const running = start(world);
    await running.clock.advance(2_500);
    expect(running.store.lookup(keyFor('a'))).to.deep.equal({
      kind: 'unknown',
      why: 'widgets.example.org are not listed yet',
    });
    await running.clock.advance(500);
    expect(running.store.lookup(keyFor('a')).kind).to.equal('found');
    expect(running.store.lookup(keyFor('b'))).to.deep.equal({ kind: 'absent' });
    await running.stop();
  });

  it('goes on from where it was when the server ends the watch or the connection breaks', async () => {
    const running = await startSynced(newWorld());
    running.make('a');
    await running.clock.settle();
    await running.clock.advance(2_000);
    running.server.endWatches();
    running.make('b');
    await running.clock.settle();
    running.server.endWatches(new Error('read ECONNRESET'));
    running.make('c');
    await running.clock.advance(800);
    expect(running.changes).to.deep.equal(['+a', '+b', '+c']);
    expect(listsOf(running)).to.equal(1);
    await running.stop();
  });

  it('lists anew after 410 and tells what vanished meanwhile, with the last state it knew', async () => {
    const running = await startSynced(newWorld());
    running.make('kept', { spec: { size: 1 } });
    running.make('lost', { spec: { size: 7 } });
    await running.clock.settle();
    running.changes.length = 0;
    const deleted: unknown[] = [];
    running.store.onChange((change) => change.type === 'deleted' && deleted.push(change.object['spec']));

    running.server.endWatches(new Error('read ECONNRESET'));
    running.server.storage.delete(running.server.kind('widgets'), keyFor('lost'));
    running.make('new');
    running.server.compact();
    await running.clock.advance(3_000);
    expect(running.changes).to.deep.equal(['-lost', '+new']);
    expect(deleted).to.deep.equal([{ size: 7 }]);
    expect(listsOf(running)).to.equal(2);
    await running.stop();
  });

  it('starts the list again when a page token expires in between', async () => {
    const world = newWorld();
    for (let i = 0; i < 600; i++) world.make(`w${i}`);
    let isFirst = true;
    world.server.intercept = ({ path }) => {
      if (!path.includes('continue=') || !isFirst) return undefined;
      isFirst = false;
      world.server.storage.delete(world.server.kind('widgets'), keyFor('w0'));
      world.server.compact();
      return undefined;
    };
    const running = start(world);
    await running.clock.runUntil(() => running.store.synced, { limitMs: 5_000 });
    expect(running.changes).to.have.length(599).and.not.include('+w0!');
    expect(listsOf(world)).to.equal(4);
    await running.stop();
  });

  it('keeps its watch through quiet hours by bookmarks, without a list', async () => {
    const running = await startSynced(newWorld());
    // Others write, nothing of ours: without bookmarks the watch would fall behind what the server keeps.
    for (let minute = 0; minute < 120; minute++) {
      running.server.storage.create(running.server.kind('secrets'), 'default', { metadata: { name: `s${minute}` } });
      await running.clock.advance(60_000);
      if (minute % 3 === 0) running.server.compact();
    }
    expect(listsOf(running)).to.equal(1);
    expect(watchesOf(running)).to.be.within(22, 28);
    await running.stop();
  });

  it('cuts a watch that neither brings anything nor ends', async () => {
    const running = await startSynced(newWorld());
    running.server.endWatches();
    // The connection is open and dead: nothing comes any more, not even the end.
    running.server.intercept = ({ path, signal }) =>
      path.includes('watch=true') ? { status: 200, headers: {}, body: new ByteStream(signal, () => {}) } : undefined;
    await running.clock.advance(1_000);
    const before = watchesOf(running);
    running.server.intercept = () => undefined;
    running.make('a');
    await running.clock.advance(270_000);
    expect(running.changes).to.deep.equal([]);
    await running.clock.advance(60_000);
    expect(running.changes).to.deep.equal(['+a']);
    expect(watchesOf(running)).to.equal(before + 1);
    await running.stop();
  });

  it('backs off from 0.8 s to 30 s while the server is gone, and starts anew after two healthy minutes', async () => {
    const running = await startSynced(newWorld());
    const attempts: number[] = [];
    running.server.intercept = () => {
      attempts.push(running.clock.monotonic());
      return new Error('connect ECONNREFUSED 127.0.0.1:6443');
    };
    running.server.endWatches(new Error('read ECONNRESET'));
    await running.clock.advance(300_000);
    const pauses = attempts.slice(1).map((at, index) => at - (attempts[index] ?? 0));
    expect(pauses.length).to.be.within(12, 25);
    pauses.forEach((pause, index) => {
      const ceiling = Math.min(800 * 2 ** (index + 1), 30_000);
      expect(pause).to.be.within(ceiling / 2, ceiling);
    });
    expect(running.store.synced, 'what was known stays known').to.equal(true);

    running.server.intercept = () => undefined;
    await running.clock.advance(30_000 + 121_000);
    attempts.length = 0;
    const cut = running.clock.monotonic();
    running.server.intercept = () => {
      attempts.push(running.clock.monotonic());
      return new Error('connect ECONNREFUSED 127.0.0.1:6443');
    };
    running.server.endWatches(new Error('read ECONNRESET'));
    await running.clock.advance(1_000);
    const [first = Infinity, second = Infinity] = attempts;
    expect(first, 'a watch that had lasted is taken up again at once').to.equal(cut);
    expect(second - first).to.be.within(400, 800);
    await running.stop();
  });

  it('loses no time on a way that breaks quiet connections, as a load balancer does that has 35 s for them', async () => {
    const world = await startSynced(newWorld());
    const { clock, server, store, logger, stop } = world;
    for (let times = 0; times < 10; times++) {
      await clock.advance(35_000);
      server.endWatches(new Error('other side closed'));
      world.make(`w${times}`);
      await clock.settle();
      expect(store.lookup(keyFor(`w${times}`)).kind, `after ${times + 1} times`).to.equal('found');
    }
    expect(listsOf(world)).to.equal(1);
    expect(logger.said('The reflector failed and will try again')).to.deep.equal([]);
    await stop();
  });

  it('lists anew where the server that comes back knows less than it did: etcd was restored from a backup', async () => {
    const world = newWorld();
    const restored = newWorld();
    for (const { make } of [world, restored]) make('a');
    for (let i = 0; i < 5; i++) world.server.storage.mergePatch(widgetKind, keyFor('a'), { spec: { size: i } });
    world.make('lost');
    const { store, clock, logger, changes, stop } = await startSynced(world);
    world.server.intercept = (request) => restored.server.send(request);
    restored.make('b');
    world.server.endWatches(new Error('read ECONNRESET'));
    await clock.advance(5_000);
    expect(changes).to.deep.equal(['-lost', '~a', '+b']);
    expect(store.list()).to.deep.equal({ kind: 'listed', objects: restored.server.storage.list(widgetKind) });
    expect(logger.said('The API server knows less than it did: listing anew')).to.have.length(1);
    restored.make('c');
    await clock.settle();
    expect(changes.at(-1)).to.equal('+c');
    await stop();
  });

  it('says what keeps it from listing, in the words of the server, and what to do about it, until that is over', async () => {
    const world = newWorld();
    const forbidden =
      'widgets.example.org is forbidden: User "capaf" cannot list resource "widgets" in API group "example.org" at the cluster scope';
    const remedy =
      "Apply the manager's roles and role bindings again (config/rbac), or put right what was changed in them";
    world.server.intercept = ({ path }) =>
      path.includes('/widgets?')
        ? json(403, { kind: 'Status', code: 403, reason: 'Forbidden', message: forbidden })
        : undefined;
    const { reflector, clock, logger, store, stop } = start(world);
    expect(reflector.hindrance()).to.equal(undefined);
    // While it tries again, too.
    await clock.advance(20_000);
    expect(reflector.hindrance()).to.equal(`listing widgets.example.org: ${forbidden}. ${remedy}`);
    expect(logger.said('The reflector failed and will try again')[0]?.keys).to.include({ remedy });
    world.server.intercept = () => undefined;
    await clock.runUntil(() => store.synced, { limitMs: 30_000 });
    await clock.settle();
    expect(reflector.hindrance()).to.equal(undefined);
    world.server.unserve('widgets');
    await clock.advance(60_000);
    expect(reflector.hindrance()).to.equal('the API server does not serve widgets.example.org');
    await stop();
  });

  it('waits as long as the server asks', async () => {
    const world = newWorld();
    const listed: number[] = [];
    world.server.intercept = ({ path }) => {
      if (!path.includes('/widgets?')) return undefined;
      listed.push(world.clock.monotonic());
      return listed.length === 1 ? text(429, 'too many requests', { 'retry-after': '17' }) : undefined;
    };
    const running = start(world);
    await running.clock.advance(20_000);
    expect(listed).to.deep.equal([0, 17_000, 17_000].slice(0, listed.length));
    expect(running.store.synced).to.equal(true);
    await running.stop();
  });

  it('delivers an object whatever is in it', async () => {
    const world = newWorld();
    world.make('odd', { spec: 7, status: 'none' });
    const running = await startSynced(world);
    const found = running.store.lookup(keyFor('odd'));
    expect(found).to.have.nested.property('object.spec', 7);
    await running.stop();
  });

  it('lists anew when a watch brings what cannot be read', async () => {
    const running = await startSynced(newWorld());
    running.server.endWatches();
    let isFirst = true;
    running.server.intercept = ({ path }) => {
      if (!path.includes('watch=true') || !isFirst) return undefined;
      isFirst = false;
      return text(200, '{"type":"ADDED","object":\n');
    };
    await running.clock.advance(1_500);
    running.make('a');
    await running.clock.advance(3_000);
    expect(running.changes).to.deep.equal(['+a']);
    expect(listsOf(running)).to.equal(2);
    await running.stop();
  });

  it('does not turn hot on a proxy that closes every watch at once', async () => {
    const running = await startSynced(newWorld());
    running.server.intercept = ({ path }) => (path.includes('watch=true') ? json(200, {}) : undefined);
    running.server.endWatches();
    const before = running.server.requests.length;
    await running.clock.advance(60_000);
    expect(running.server.requests.length - before).to.be.at.most(12);
    await running.stop();
  });

  it('survives a handler that throws, and says so', async () => {
    const running = await startSynced(newWorld());
    running.store.onChange(() => {
      throw new Error('a mistake');
    });
    running.make('a');
    running.make('b');
    await running.clock.settle();
    expect(running.changes).to.deep.equal(['+a', '+b']);
    expect(running.logger.said('A handler of the store failed')).to.have.length(2);
    await running.stop();
  });

  for (const [what, ail, isStarted] of [
    ['is listed', () => {}, true],
    ['is not served', ({ server }: World) => server.unserve('widgets'), true],
    [
      'cannot be read',
      ({ server }: World) => (server.intercept = ({ path }) => (path.includes('limit=') ? text(403, 'no') : undefined)),
      false,
    ],
  ] as const)
    it(`has tried once a kind ${what}, and ${isStarted ? 'is started' : 'is not started'} by that`, async () => {
      const world = newWorld();
      ail(world);
      world.server.latency = 1_000;
      const running = start(world);
      const { signal } = new AbortController();
      const seen: string[] = [];
      void running.reflector.tried(signal).then(() => seen.push('tried'));
      void running.reflector.started(signal).then(() => seen.push('started'));
      await running.clock.advance(999);
      expect(seen).to.deep.equal([]);
      await running.clock.advance(3_000);
      expect(seen.toSorted()).to.deep.equal(isStarted ? ['started', 'tried'] : ['tried']);
      await running.stop();
    });

  for (const moment of ['resolving', 'listing', 'watching', 'unserved', 'backingOff'] as const) {
    it(`stops at once while ${moment}`, async () => {
      const world = newWorld();
      if (moment === 'unserved') world.server.unserve('widgets');
      if (moment === 'backingOff') world.server.intercept = () => new Error('connect ECONNREFUSED');
      if (moment === 'resolving' || moment === 'listing') world.server.latency = 1_000;
      const running = start(world);
      await running.clock.runUntil(() => running.reflector.state.kind === moment, { limitMs: 10_000 });
      await running.clock.settle();
      await running.stop();
    });
  }
});
