import { expect } from 'chai';
import { mutationTimeLeft } from './mutation-time-in-lease.ts';

describe('mutationTimeLeft', () => {
  for (const [situation, remaining, timeLeft] of [
    ['that does not end', Infinity, 10_000],
    ['of fifteen seconds', 15_000, 10_000],
    ['that ends two seconds after the longest mutation', 12_000, 10_000],
    ['that ends sooner', 7_000, 5_000],
    ['in its last two seconds', 2_000, 0],
    ['that is over', 0, -2_000],
  ] as const)
    it(`allows ${timeLeft} ms with a lease ${situation}`, () => {
      expect(mutationTimeLeft({ remaining: () => remaining })).to.equal(timeLeft);
    });
});
