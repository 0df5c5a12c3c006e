import { expect } from 'chai';
import { BoundedValues } from './bounded-values.ts';

describe('BoundedValues', () => {
  it('keeps the first values, and makes all others one', () => {
    const values = new BoundedValues(2);
    expect(['a', 'b', 'c', 'a', 'd', 'b'].map((value) => values.of(value))).to.deep.equal([
      'a',
      'b',
      'other',
      'a',
      'other',
      'b',
    ]);
  });
});
