import { expect } from 'chai';
import { fairnessTable, median } from './tables.ts';

describe('the median', () => {
  it('is the middle value in any order', () => {
    expect(median([9, 1, 5])).to.equal(5);
  });

  it('is the mean of the two middle values', () => {
    expect(median([4, 1, 100, 2])).to.equal(3);
  });
});

describe('the table of fairness', () => {
  it('shows the medians of the runs and their quotient', () => {
    const table = fairnessTable([
      { aloneSeconds: 2, besideSeconds: 2.5 },
      { aloneSeconds: 2, besideSeconds: 9 },
      { aloneSeconds: 2, besideSeconds: 2 },
    ]);
    const cells = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    expect(cells.slice(2).map((row) => row.at(-2))).to.deep.equal(['2.00', '2.50', '1.25']);
  });
});
