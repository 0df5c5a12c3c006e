import { expect } from 'chai';
import { ByteStream } from '../testing/byte-stream.ts';
import { json, text } from '../testing/fake-api-server.ts';
import { GRANT, newFakeApiEnvironment, type FakeApiEnvironment } from '../testing/fixtures.ts';
import {
  listsOf,
  startReflector,
  startSyncedReflector,
  stopReflectors,
  watchesOf,
} from '../testing/running-reflector.ts';

describe('Reflector', () => {
  afterEach(stopReflectors);

  it('resumes the watch without a list after quiet hours, by bookmarks', async () => {
    const running = await startSyncedReflector(newFakeApiEnvironment());
    // The test changes only Secrets, which the reflector does not watch. Without bookmarks the resourceVersion of the
    // reflector's watch would expire.
    for (let minute = 0; minute < 120; minute++) {
      running.server.storage.create(running.server.kind('secrets'), 'default', { metadata: { name: `s${minute}` } });
      await running.clock.advance(60_000);
      if (minute % 3 === 0) running.server.compact();
    }
    expect(listsOf(running)).to.equal(1);
    expect(watchesOf(running)).to.be.within(22, 28);
  });

  describe('whose watch is silent on a connection that is open', () => {
    /** The API server accepts each new watch, but sends nothing on its connection. */
    const silenceWatches = async ({ clock, server }: FakeApiEnvironment): Promise<void> => {
      await clock.advance(70_000);
      server.intercept = ({ path, signal }) =>
        path.includes('watch=true') ? { status: 200, headers: {}, body: new ByteStream(signal, () => {}) } : undefined;
      server.endWatches();
      await clock.settle();
    };

    it('opens the watch again after 90 s, without a list and without a warning', async () => {
      const running = await startSyncedReflector(newFakeApiEnvironment());
      await silenceWatches(running);
      const before = watchesOf(running);
      running.server.intercept = () => undefined;
      running.make('a');
      await running.clock.advance(89_000);
      expect(running.changes).to.deep.equal([]);
      await running.clock.advance(2_000);
      expect(running.changes).to.deep.equal(['+a']);
      expect(watchesOf(running)).to.equal(before + 1);
      expect(listsOf(running)).to.equal(1);
      expect(running.logger.lines.filter(({ level }) => level === 'warn' || level === 'error')).to.deep.equal([]);
    });

    it('lists again after another 90 s, because etcd may have been restored meanwhile', async () => {
      const running = await startSyncedReflector(newFakeApiEnvironment());
      await silenceWatches(running);
      running.make('a');
      await running.clock.advance(179_000);
      expect(running.changes).to.deep.equal([]);
      await running.clock.advance(2_000);
      expect(running.changes).to.deep.equal(['+a']);
      expect(listsOf(running)).to.equal(2);
    });
  });

  it('backs off from 0.8 s to 30 s while the server does not answer, and resets the backoff after two healthy minutes', async () => {
    const running = await startSyncedReflector(newFakeApiEnvironment());
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
  });

  it('reports why it cannot list, with the message of the server and a remedy, until it can', async () => {
    const environment = newFakeApiEnvironment();
    const forbidden =
      'widgets.example.org is forbidden: User "example" cannot list resource "widgets" in API group "example.org" at the cluster scope';
    environment.server.intercept = ({ path }) =>
      path.includes('/widgets?')
        ? json(403, { kind: 'Status', code: 403, reason: 'Forbidden', message: forbidden })
        : undefined;
    const { reflector, clock, logger, store } = startReflector(environment);
    expect(reflector.currentProblem()).to.equal(undefined);
    // After the first failure `currentProblem()` returns the error, even while the reflector tries to list the objects
    // again.
    await clock.advance(20_000);
    expect(reflector.currentProblem()).to.equal(`listing widgets.example.org: ${forbidden}. ${GRANT}`);
    expect(logger.linesWith('The reflector failed and will try again')[0]?.keys).to.include({ remedy: GRANT });
    environment.server.intercept = () => undefined;
    await clock.runUntil(() => store.synced, { limitMs: 30_000 });
    await clock.settle();
    expect(reflector.currentProblem()).to.equal(undefined);
    environment.server.unserve('widgets');
    await clock.advance(60_000);
    expect(reflector.currentProblem()).to.equal('the API server does not serve widgets.example.org');
  });

  for (const [what, prepare, isStarted] of [
    ['is listed', () => {}, true],
    ['is not served', ({ server }: FakeApiEnvironment) => server.unserve('widgets'), true],
    [
      'cannot be read',
      ({ server }: FakeApiEnvironment) =>
        (server.intercept = ({ path }) => (path.includes('limit=') ? text(403, 'no') : undefined)),
      false,
    ],
  ] as const)
    it(`resolves listAttempted${isStarted ? ' and started' : ', but not started,'} after the first attempt for a kind that ${what}`, async () => {
      const environment = newFakeApiEnvironment();
      prepare(environment);
      environment.server.latency = 1_000;
      const running = startReflector(environment);
      const { signal } = new AbortController();
      const seen: string[] = [];
      void running.reflector.listAttempted(signal).then(() => seen.push('attempted'));
      void running.reflector.started(signal).then(() => seen.push('started'));
      await running.clock.advance(999);
      expect(seen).to.deep.equal([]);
      await running.clock.advance(3_000);
      expect(seen.toSorted()).to.deep.equal(isStarted ? ['attempted', 'started'] : ['attempted']);
    });

  for (const moment of ['resolving', 'listing', 'watching', 'unserved', 'backingOff'] as const) {
    it(`stops at once while ${moment}`, async () => {
      const environment = newFakeApiEnvironment();
      if (moment === 'unserved') environment.server.unserve('widgets');
      if (moment === 'backingOff') environment.server.intercept = () => new Error('connect ECONNREFUSED');
      if (moment === 'resolving' || moment === 'listing') environment.server.latency = 1_000;
      const running = startReflector(environment);
      await running.clock.runUntil(() => running.reflector.state.kind === moment, { limitMs: 10_000 });
      await running.clock.settle();
      await stopReflectors();
    });
  }
});
