import { expect } from 'chai';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import type { AwsCredentials, CredentialSource } from './credentials.ts';
import { CachedCredentials, CredentialPool } from './credentials.ts';
import { NoCredentials } from './sdk-failure.ts';

const MINUTE = 60_000;

/** Gives credentials numbered from 1, until a test says otherwise. */
class Source implements CredentialSource {
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
      ...(lasting === undefined ? {} : { expiresAt: this.clock.now() + lasting }),
    };
  }

  fails(): void {
    this.fetch = () => {
      this.fetched += 1;
      return Promise.reject(new Error('nothing there'));
    };
  }
}

describe('credentials', () => {
  let clock: VirtualClock;
  let stop: AbortController;
  beforeEach(() => {
    clock = new VirtualClock();
    stop = new AbortController();
  });

  const cached = (source: CredentialSource): CachedCredentials => new CachedCredentials(source, clock, stop.signal);

  async function wordsOf(credentials: CachedCredentials): Promise<string> {
    try {
      return `got ${(await credentials.get()).accessKeyId}`;
    } catch (error) {
      return error instanceof Error ? `${error.name}: ${error.message}` : 'no error';
    }
  }

  it('are not what is missing where the program has a mistake, which is tried again by the next', async () => {
    const source = new Source(clock);
    const { fetch } = source;
    source.fetch = () => Promise.reject(new TypeError('x is not a function'));
    const credentials = cached(source);
    expect(await wordsOf(credentials)).to.equal('TypeError: x is not a function');
    source.fetch = fetch;
    expect(await wordsOf(credentials)).to.equal('got key-1');
  });

  it('are fetched once for all who wait', async () => {
    const source = new Source(clock, 60 * MINUTE);
    const credentials = cached(source);
    const got = await Promise.all([credentials.get(), credentials.get(), credentials.get()]);
    expect(got.map(({ accessKeyId }) => accessKeyId)).to.deep.equal(['key-1', 'key-1', 'key-1']);
    expect(source.fetched).to.equal(1);
  });

  it('are renewed five minutes before they end', async () => {
    const credentials = cached(new Source(clock, 60 * MINUTE));
    await credentials.get();
    await clock.advance(55 * MINUTE - 1);
    expect(await wordsOf(credentials)).to.equal('got key-1');
    await clock.advance(1);
    expect(await wordsOf(credentials)).to.equal('got key-2');
  });

  it('without an end are read again after a minute: the file may have another key', async () => {
    const credentials = cached(new Source(clock));
    await credentials.get();
    await clock.advance(MINUTE - 1);
    expect(await wordsOf(credentials)).to.equal('got key-1');
    await clock.advance(1);
    expect(await wordsOf(credentials)).to.equal('got key-2');
  });

  it('serve on while new ones cannot be had, until shortly before their end', async () => {
    const source = new Source(clock, 60 * MINUTE);
    const credentials = cached(source);
    await credentials.get();
    source.fails();
    await clock.advance(56 * MINUTE);
    expect(await wordsOf(credentials)).to.equal('got key-1');
    expect(await wordsOf(credentials)).to.equal('got key-1');
    expect(source.fetched, 'fetches').to.equal(2);
    await clock.advance(3 * MINUTE + 31_000);
    expect(await wordsOf(credentials)).to.equal('NoCredentials: no AWS credentials: nothing there');
  });

  it('that come close to their end do not make every caller ask', async () => {
    const source = new Source(clock, 2 * MINUTE);
    const credentials = cached(source);
    await credentials.get();
    await clock.advance(4_999);
    expect(await wordsOf(credentials)).to.equal('got key-1');
    await clock.advance(1);
    expect(await wordsOf(credentials)).to.equal('got key-2');
  });

  it('that cannot be had are not asked for again at once', async () => {
    const source = new Source(clock);
    source.fails();
    const credentials = cached(source);
    expect(await wordsOf(credentials)).to.equal('NoCredentials: no AWS credentials: nothing there');
    expect(await wordsOf(credentials)).to.equal('NoCredentials: no AWS credentials: nothing there');
    expect(source.fetched).to.equal(1);
    await clock.advance(5_000);
    expect(await wordsOf(credentials)).to.equal('NoCredentials: no AWS credentials: nothing there');
    expect(source.fetched).to.equal(2);
  });

  it('that AWS refuses are fetched anew', async () => {
    const credentials = cached(new Source(clock, 60 * MINUTE));
    await credentials.get();
    credentials.refused();
    expect(await wordsOf(credentials)).to.equal('got key-2');
  });

  it('that never come cost ten seconds', async () => {
    const source = new Source(clock);
    source.fetch = () => new Promise(() => {});
    const words = wordsOf(cached(source));
    await clock.advance(10_000);
    expect(await words).to.equal('NoCredentials: no AWS credentials: the source of credentials: no result within 10 s');
    expect(clock.pendingTimers()).to.deep.equal([]);
  });

  it('are no longer waited for when the manager stops', async () => {
    const source = new Source(clock);
    source.fetch = () => new Promise(() => {});
    const words = wordsOf(cached(source));
    await clock.settle();
    stop.abort(new Error('the manager stops'));
    expect(await words).to.equal('NoCredentials: no AWS credentials: the manager stops');
  });

  it('tell the source that AWS refused them', () => {
    const source = new Source(clock, 60 * MINUTE);
    let told = 0;
    cached(Object.assign(source, { refused: () => (told += 1) })).refused();
    expect(told).to.equal(1);
  });

  it('may take as long as their source says', async () => {
    const source = Object.assign(new Source(clock), { deadline: 40_000 });
    source.fetch = () => new Promise(() => {});
    const words = wordsOf(cached(source));
    await clock.advance(39_999);
    expect(clock.pendingTimers()).to.deep.equal([1]);
    await clock.advance(1);
    expect(await words).to.contain('no result within 40 s');
  });

  it('that cannot be had for a reason that the source knows tell that reason', async () => {
    const source = new Source(clock);
    const error = new NoCredentials({ reason: 'SecretNotFound', message: 'no such Secret' });
    source.fetch = () => Promise.reject(error);
    expect(await wordsOf(cached(source))).to.equal('NoCredentials: no such Secret');
  });
});

describe('a pool of credentials', () => {
  let clock: VirtualClock;
  let pool: CredentialPool;
  beforeEach(() => {
    clock = new VirtualClock();
    pool = new CredentialPool(clock, new AbortController().signal);
  });
  const named = (key: string): Source & CredentialSource => Object.assign(new Source(clock, 600 * MINUTE), { key });

  it('fetches once for all sources of one key, and apart for others', async () => {
    const [one, same, other] = [named('a'), named('a'), named('b')];
    await Promise.all([one, same, other].map((source) => pool.get(source)));
    expect([one, same, other].map(({ fetched }) => fetched)).to.deep.equal([1, 0, 1]);
  });

  it('fetches anew what AWS refused, and nothing else', async () => {
    const [one, other] = [named('a'), named('b')];
    await Promise.all([pool.get(one), pool.get(other)]);
    pool.refused(one);
    await Promise.all([pool.get(one), pool.get(other)]);
    expect([one.fetched, other.fetched]).to.deep.equal([2, 1]);
  });

  it('lets go of what nobody has used for half an hour, and keeps what is used', async () => {
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
