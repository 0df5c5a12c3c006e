import { expect } from 'chai';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { Lru } from './lru.ts';

const keysOf = (cache: Lru<unknown>): readonly string[] => cache.entries().map(([key]) => key);

describe('Lru', () => {
  describe('with a bound on the number of entries', () => {
    it('evicts the entry that was used longest ago', () => {
      const cache = new Lru<number>({ maxEntries: 2 });
      cache.set('a', 1);
      cache.set('b', 2);
      cache.set('a', 3);
      cache.set('c', 4);
      expect(cache.entries()).to.deep.equal([
        ['a', 3],
        ['c', 4],
      ]);
      expect(cache.get('a')).to.equal(3);
      cache.set('d', 5);
      expect(keysOf(cache)).to.deep.equal(['a', 'd']);
      expect(cache.get('b')).to.equal(undefined);
    });
  });

  describe('with expiry after the last use', () => {
    let clock: VirtualClock;
    let cache: Lru<object>;
    beforeEach(() => {
      clock = new VirtualClock();
      cache = new Lru({ expireAfterAccess: { clock, span: 1_000 } });
    });
    const use = (key: string): object => cache.getOrCreate(key, () => ({}));

    it('creates an entry once', () => {
      const created = use('a');
      expect(use('a')).to.equal(created);
      expect(cache.get('a')).to.equal(created);
      expect(use('b')).not.to.equal(created);
    });

    it('evicts an unused entry while others are used', async () => {
      use('a');
      await clock.advance(800);
      use('b');
      await clock.advance(300);
      use('b');
      expect(cache.peek('a')).to.equal(undefined);
      expect(keysOf(cache)).to.deep.equal(['b']);
    });

    it('evicts an unused entry while a missing one is asked for', async () => {
      use('a');
      await clock.advance(1_000);
      expect(cache.get('b')).to.equal(undefined);
      expect(cache.peek('a')).to.equal(undefined);
    });

    it('does not list an expired entry', async () => {
      use('a');
      await clock.advance(999);
      expect(keysOf(cache)).to.deep.equal(['a']);
      await clock.advance(1);
      expect(keysOf(cache)).to.deep.equal([]);
    });

    it('does not count a peek or a listing as a use', async () => {
      const created = use('a');
      await clock.advance(900);
      expect(cache.peek('a')).to.equal(created);
      expect(cache.entries()).to.deep.equal([['a', created]]);
      await clock.advance(300);
      expect(keysOf(cache)).to.deep.equal([]);
      expect(cache.peek('a')).to.equal(undefined);
    });
  });
});
