import { expect } from 'chai';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import { RecentlyUsed } from './recently-used.ts';

describe('what is kept while it is used', () => {
  let clock: VirtualClock;
  let kept: RecentlyUsed<object>;
  beforeEach(() => {
    clock = new VirtualClock();
    kept = new RecentlyUsed(clock, 1_000);
  });
  const use = (key: string): object => kept.get(key, () => ({}));
  const keys = (): readonly string[] => kept.all().map(([key]) => key);

  it('is made once', () => {
    const made = use('a');
    expect(use('a')).to.equal(made);
    expect(use('b')).not.to.equal(made);
  });

  it('stays as long as it is used', async () => {
    const made = use('a');
    for (let round = 0; round < 10; round += 1) {
      await clock.advance(900);
      expect(use('a')).to.equal(made);
    }
  });

  it('goes when others are used and it is not', async () => {
    use('a');
    await clock.advance(800);
    use('b');
    await clock.advance(300);
    use('b');
    expect(keys()).to.deep.equal(['b']);
  });

  it('goes without any use at all', async () => {
    use('a');
    await clock.advance(1_000);
    expect(keys()).to.deep.equal([]);
  });

  it('stays just before its time is over', async () => {
    use('a');
    await clock.advance(999);
    expect(keys()).to.deep.equal(['a']);
  });

  it('is looked at without being used', async () => {
    const made = use('a');
    await clock.advance(900);
    expect(kept.peek('a')).to.equal(made);
    expect(kept.all()).to.deep.equal([['a', made]]);
    await clock.advance(300);
    expect(keys()).to.deep.equal([]);
    expect(kept.peek('a')).to.equal(undefined);
  });
});
