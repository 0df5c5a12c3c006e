import { expect } from 'chai';
import { mutationBudget } from './budget.ts';

describe('mutationBudget', () => {
  for (const [what, remaining, budget] of [
    ['that does not end', Infinity, 10_000],
    ['of fifteen seconds', 15_000, 10_000],
    ['that ends two seconds after the longest change', 12_000, 10_000],
    ['that ends sooner', 7_000, 5_000],
    ['in its last two seconds', 2_000, 0],
    ['that is over', 0, -2_000],
  ] as const)
    it(`is ${budget} ms with a lease ${what}`, () => {
      expect(mutationBudget({ remaining: () => remaining })).to.equal(budget);
    });
});
