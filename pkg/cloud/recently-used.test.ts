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
    expect(kept.keys()).to.deep.equal(['b']);
  });

  it('goes without any use at all', async () => {
    use('a');
    await clock.advance(1_000);
    expect(kept.keys()).to.deep.equal([]);
    expect(kept.size).to.equal(0);
  });

  it('stays just before its time is over', async () => {
    use('a');
    await clock.advance(999);
    expect(kept.keys()).to.deep.equal(['a']);
  });

  it('is made anew when it was dropped', () => {
    const made = use('a');
    kept.delete('a');
    expect(use('a')).not.to.equal(made);
  });
});
