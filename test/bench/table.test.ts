import { expect } from 'chai';
import { median } from './table.ts';

describe('the median', () => {
  it('is the value in the middle, whatever the order', () => {
    expect(median([9, 1, 5])).to.equal(5);
  });

  it('is between the two in the middle where there are two', () => {
    expect(median([4, 1, 100, 2])).to.equal(3);
  });
});
