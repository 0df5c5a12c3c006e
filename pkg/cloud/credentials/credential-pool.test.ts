import { expect } from 'chai';
import { VirtualClock } from 'controller-runtime/testing';
import { CachedCredentials, CredentialPool, type AwsCredentials, type AwsCredentialSource } from './credential-pool.ts';

const MINUTE = 60_000;
const NOTHING_THERE = 'NoCredentials: the controller has no AWS credentials: nothing there';

/** A source whose fetches return the access keys `key-1`, `key-2` and so on, unless a test replaces `fetch`. */
class Source implements AwsCredentialSource {
  readonly key: string = 'test';
  fetched = 0;
  fetch: (signal: AbortSignal) => Promise<AwsCredentials>;
  private readonly clock: VirtualClock;

  constructor(clock: VirtualClock, lasting?: number) {
    this.clock = clock;
    this.fetch = async () => this.next(lasting);
  }

  next(lasting?: number): AwsCredentials {
    this.fetched += 1;
    return {
      accessKeyId: `key-${this.fetched}`,
      secretAccessKey: 'secret',
      ...(lasting !== undefined && { expiresAt: this.clock.now() + lasting }),
    };
  }

  fails(): void {
    this.fetch = () => {
      this.fetched += 1;
      return Promise.reject(new Error('nothing there'));
    };
  }
}

describe('Cached credentials', () => {
  let clock: VirtualClock;
  let stop: AbortController;
  beforeEach(() => {
    clock = new VirtualClock();
    stop = new AbortController();
  });

  const cached = (source: AwsCredentialSource): CachedCredentials => new CachedCredentials(source, clock, stop.signal);

  /** Returns credentials that were fetched once and expire in an hour. */
  async function fetched() {
    const source = new Source(clock, 60 * MINUTE);
    const credentials = cached(source);
    await credentials.get();
    return { source, credentials };
  }

  async function wordsOf(credentials: CachedCredentials): Promise<string> {
    try {
      return `got ${(await credentials.get()).accessKeyId}`;
    } catch (error) {
      return error instanceof Error ? `${error.name}: ${error.message}` : 'no error';
    }
  }

  it('throw a panic of their source, and fetch again at the next call', async () => {
    const source = new Source(clock);
    const { fetch } = source;
    source.fetch = () => Promise.reject(new TypeError('x is not a function'));
    const credentials = cached(source);
    expect(await wordsOf(credentials)).to.equal('TypeError: x is not a function');
    source.fetch = fetch;
    expect(await wordsOf(credentials)).to.equal('got key-1');
  });

  it('are renewed in the background five minutes before they expire', async () => {
    const { source, credentials } = await fetched();
    await clock.advance(55 * MINUTE - 1);
    expect(await wordsOf(credentials)).to.equal('got key-1');
    await clock.settle();
    expect(source.fetched).to.equal(1);
    await clock.advance(1);
    expect(await wordsOf(credentials)).to.equal('got key-1');
    await clock.settle();
    expect(await wordsOf(credentials)).to.equal('got key-2');
  });

  it('are returned at once while their renewal hangs, until shortly before they expire', async () => {
    const { source, credentials } = await fetched();
    source.fetch = () => new Promise(() => {});
    await clock.advance(56 * MINUTE);
    for (let seconds = 0; seconds < 200; seconds += 20) {
      expect(await wordsOf(credentials)).to.equal('got key-1');
      await clock.advance(20_000);
    }
    await clock.advance(11_000);
    const waiting = wordsOf(credentials);
    await clock.advance(10_000);
    expect(await waiting).to.contain('the source of credentials: no result within 10 s');
  });

  it('that AWS rejects during their renewal are not used again when the renewal fails', async () => {
    const { source, credentials } = await fetched();
    await clock.advance(56 * MINUTE);
    source.fails();
    await credentials.get();
    credentials.reject('key-1');
    await clock.settle();
    expect(await wordsOf(credentials)).to.equal(NOTHING_THERE);
  });

  it('without an expiry are fetched again after a minute, because the file may have a new key', async () => {
    const credentials = cached(new Source(clock));
    await credentials.get();
    await clock.advance(MINUTE - 1);
    expect(await wordsOf(credentials)).to.equal('got key-1');
    await clock.advance(1);
    expect(await wordsOf(credentials)).to.equal('got key-2');
  });

  it('stay in use while their renewal fails, until shortly before they expire', async () => {
    const { source, credentials } = await fetched();
    source.fails();
    await clock.advance(56 * MINUTE);
    expect(await wordsOf(credentials)).to.equal('got key-1');
    expect(await wordsOf(credentials)).to.equal('got key-1');
    expect(source.fetched, 'fetches').to.equal(2);
    await clock.advance(3 * MINUTE + 31_000);
    expect(await wordsOf(credentials)).to.equal(NOTHING_THERE);
  });

  it('that expire soon are not fetched again by every caller', async () => {
    const source = new Source(clock, 2 * MINUTE);
    const credentials = cached(source);
    await credentials.get();
    await clock.advance(4_999);
    expect(await wordsOf(credentials)).to.equal('got key-1');
    await clock.settle();
    expect(source.fetched).to.equal(1);
    await clock.advance(1);
    await credentials.get();
    await clock.settle();
    expect(await wordsOf(credentials)).to.equal('got key-2');
  });

  it('that could not be fetched are not fetched again at once', async () => {
    const source = new Source(clock);
    source.fails();
    const credentials = cached(source);
    expect(await wordsOf(credentials)).to.equal(NOTHING_THERE);
    expect(await wordsOf(credentials)).to.equal(NOTHING_THERE);
    expect(source.fetched).to.equal(1);
    await clock.advance(5_000);
    expect(await wordsOf(credentials)).to.equal(NOTHING_THERE);
    expect(source.fetched).to.equal(2);
  });

  it('that replaced rejected ones stay when the rejection is reported again', async () => {
    const source = new Source(clock, 60 * MINUTE);
    const credentials = cached(source);
    const { accessKeyId } = await credentials.get();
    for (let look = 0; look < 10; look++) {
      credentials.reject(accessKeyId);
      await credentials.get();
    }
    expect(source.fetched).to.equal(2);
  });

  it('fail when the manager stops', async () => {
    const source = new Source(clock);
    source.fetch = () => new Promise(() => {});
    const words = wordsOf(cached(source));
    await clock.settle();
    stop.abort(new Error('the manager stops'));
    expect(await words).to.equal('NoCredentials: the controller has no AWS credentials: the manager stops');
  });

  it('wait as long as the deadline of their source', async () => {
    const source = Object.assign(new Source(clock), { deadline: 40_000 });
    source.fetch = () => new Promise(() => {});
    const words = wordsOf(cached(source));
    await clock.advance(39_999);
    expect(clock.pendingTimers()).to.deep.equal([1]);
    await clock.advance(1);
    expect(await words).to.contain('no result within 40 s');
  });
});

describe('The credential pool', () => {
  let clock: VirtualClock;
  let pool: CredentialPool;
  beforeEach(() => {
    clock = new VirtualClock();
    pool = new CredentialPool(clock, new AbortController().signal, 10 * 60_000);
  });
  const named = (key: string): Source & AwsCredentialSource => Object.assign(new Source(clock, 600 * MINUTE), { key });

  it('fetches once for all sources with the same key', async () => {
    const [one, same, other] = [named('a'), named('a'), named('b')];
    await Promise.all([one, same, other].map((source) => pool.get(source)));
    expect([one, same, other].map(({ fetched }) => fetched)).to.deep.equal([1, 0, 1]);
  });

  it('fetches rejected credentials again, and no others', async () => {
    const [one, other] = [named('a'), named('b')];
    const [{ accessKeyId }] = await Promise.all([pool.get(one), pool.get(other)]);
    pool.reject(one, accessKeyId);
    await Promise.all([pool.get(one), pool.get(other)]);
    expect([one.fetched, other.fetched]).to.deep.equal([2, 1]);
  });

  it('keeps credentials between two uses at the interval of a long resync', async () => {
    pool = new CredentialPool(clock, new AbortController().signal, 60 * MINUTE);
    const source = named('a');
    await pool.get(source);
    await clock.advance(65 * MINUTE);
    // A call of `get` removes the unused credentials of other sources only, so the test calls `get` for another source
    // first.
    await pool.get(named('other'));
    await pool.get(source);
    expect(source.fetched).to.equal(1);
  });

  it('drops credentials that were not used for half an hour', async () => {
    const [used, unused] = [named('used'), named('unused')];
    await Promise.all([pool.get(used), pool.get(unused)]);
    for (let quarter = 0; quarter < 2; quarter += 1) {
      await clock.advance(15 * MINUTE);
      await pool.get(used);
    }
    await Promise.all([pool.get(used), pool.get(unused)]);
    expect([used.fetched, unused.fetched]).to.deep.equal([1, 2]);
  });
});
