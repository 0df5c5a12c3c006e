import { expect } from 'chai';
import { VirtualClock } from 'controller-runtime/testing';
import { newRateLimiter, type RateLimiter, type Permit, type CallPriority } from './rate-limiter.ts';

const signal = (): AbortSignal => new AbortController().signal;
const limit = { rate: 10, burst: 2 };

describe('The limiter', () => {
  let clock: VirtualClock;
  let limiter: RateLimiter;
  /**
   * The calls in the order in which the rate limiter permitted or rejected them, each with the time of this decision in
   * ms.
   */
  let log: string[];

  beforeEach(() => {
    clock = new VirtualClock();
    limiter = newRateLimiter(clock);
    log = [];
  });

  function ask(
    name: string,
    priority: CallPriority = 'read',
    bucket = 'b',
    stop = signal(),
  ): Promise<Permit | undefined> {
    return limiter
      .acquire(bucket, limit, () => priority, stop)
      .then(
        (permit) => {
          log.push(`${name}@${Math.round(clock.monotonic())}`);
          return permit;
        },
        () => {
          log.push(`${name} gave up@${Math.round(clock.monotonic())}`);
          return undefined;
        },
      );
  }

  it('sends a burst at once and further calls at the rate', async () => {
    for (const name of ['a', 'b', 'c', 'd']) void ask(name);
    await clock.advance(1000);
    expect(log).to.deep.equal(['a@0', 'b@0', 'c@100', 'd@200']);
  });

  it('limits each bucket separately', async () => {
    for (const name of ['a', 'b', 'c']) void ask(name);
    void ask('x', 'read', 'other');
    await clock.settle();
    expect(log).to.deep.equal(['a@0', 'b@0', 'x@0']);
  });

  it('sends mutations before reads, then polls, then resyncs, each in the order of arrival', async () => {
    void ask('first');
    void ask('second');
    void ask('resync', 'resync');
    void ask('poll 1', 'poll');
    void ask('read 1', 'read');
    void ask('poll 2', 'poll');
    void ask('mutation 1', 'mutation');
    void ask('read 2', 'read');
    void ask('mutation 2', 'mutation');
    await clock.advance(1000);
    expect(log.map((line) => line.split('@')[0])).to.deep.equal([
      'first',
      'second',
      'mutation 1',
      'mutation 2',
      'read 1',
      'read 2',
      'poll 1',
      'poll 2',
      'resync',
    ]);
  });

  it('lets a waiting call go before others as soon as its priority is higher', async () => {
    let priority: CallPriority = 'resync';
    for (const name of ['a', 'b', 'c', 'd']) void ask(name, 'resync');
    void limiter.acquire('b', limit, () => priority, signal()).then(() => log.push(`changed@${clock.monotonic()}`));
    await clock.advance(100);
    priority = 'read';
    await clock.advance(1000);
    expect(log).to.deep.equal(['a@0', 'b@0', 'c@100', 'changed@200', 'd@300']);
  });

  it('refills a bucket up to the burst and no further', async () => {
    void ask('a');
    void ask('b');
    await clock.advance(60_000);
    for (const name of ['c', 'd', 'e']) void ask(name);
    await clock.advance(1000);
    expect(log.slice(2)).to.deep.equal(['c@60000', 'd@60000', 'e@60100']);
  });

  it('removes an aborted waiting call at once and spends no token on it', async () => {
    const stop = new AbortController();
    void ask('a');
    void ask('b');
    void ask('c', 'read', 'b', stop.signal);
    void ask('d');
    await clock.advance(50);
    stop.abort(new Error('stop'));
    await clock.advance(1000);
    expect(log).to.deep.equal(['a@0', 'b@0', 'c gave up@50', 'd@100']);
  });

  it('rejects a signal that has already aborted', async () => {
    await ask('a', 'read', 'b', AbortSignal.abort(new Error('stop')));
    expect(log).to.deep.equal(['a gave up@0']);
  });

  it('sets no timer while no call waits', async () => {
    const stop = new AbortController();
    void ask('a');
    void ask('b');
    await clock.settle();
    expect(clock.pendingTimers()).to.deep.equal([]);
    void ask('c', 'read', 'b', stop.signal);
    await clock.settle();
    expect(clock.pendingTimers()).to.have.length(1);
    stop.abort(new Error('stop'));
    expect(clock.pendingTimers()).to.deep.equal([]);
  });

  describe('when AWS throttles', () => {
    const fast = { rate: 100, burst: 100 };
    const acquire = (): Promise<Permit> => limiter.acquire('b', fast, () => 'read', signal());

    /**
     * Sends calls for `seconds` to a simulated AWS that allows a burst of `allowed` calls, then `allowed` calls per
     * second.
     */
    async function run(seconds: number, allowed: number): Promise<{ sent: number; throttled: number }> {
      const counts = { sent: 0, throttled: 0 };
      let tokens = allowed;
      let at = clock.monotonic();
      const end = clock.monotonic() + seconds * 1000;
      const worker = async (): Promise<void> => {
        while (clock.monotonic() < end) {
          const permit = await acquire();
          counts.sent += 1;
          tokens = Math.min(allowed, tokens + ((clock.monotonic() - at) / 1000) * allowed);
          at = clock.monotonic();
          const refused = tokens < 1;
          if (refused) counts.throttled += 1;
          else tokens -= 1;
          await new Promise<void>((resolve) => clock.after(20, resolve));
          permit.settle(refused ? 'throttled' : 'completed');
        }
      };
      const workers = Array.from({ length: 10 }, worker);
      await clock.advance(seconds * 1000 + 5000);
      await Promise.all(workers);
      return counts;
    }

    it('finds the rate that AWS allows, with few throttled calls', async () => {
      const { sent, throttled } = await run(60, 10);
      expect(throttled / sent, 'part that was refused').to.be.below(0.08);
      expect(sent - throttled, 'calls in a minute').to.be.within(420, 620);
    });

    it('cuts the rate below that of the calls around the throttled one, whenever AWS answers', async () => {
      const permits = await Promise.all(Array.from({ length: 10 }, acquire));
      await clock.advance(5_000);
      permits.forEach((permit) => permit.settle('throttled'));
      let next = 0;
      void acquire().then(() => (next = clock.monotonic()));
      await clock.advance(1000);
      expect(next).to.be.closeTo(5_000 + 1000 / 7, 1);
    });

    it('cuts the rate once for a burst of throttled calls', async () => {
      const permits = await Promise.all(Array.from({ length: 100 }, acquire));
      await clock.advance(20);
      permits.forEach((permit) => permit.settle('throttled'));
      let sent = 0;
      for (let i = 0; i < 100; i++) void acquire().then(() => (sent += 1));
      await clock.advance(1000);
      expect(sent).to.be.within(65, 75);
    });

    it('returns to its full rate after a time of success', async () => {
      (await acquire()).settle('throttled');
      const before = await run(5, 1000);
      const after = await run(120, 1000);
      expect(before.sent / 5).to.be.below(20);
      expect(after.throttled).to.equal(0);
      const end = await run(5, 1000);
      expect(end.sent / 5).to.be.above(90);
    });
  });
});
