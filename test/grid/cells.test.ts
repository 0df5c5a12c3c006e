import { expect } from 'chai';
import { FAULTS, allCells, cellText, sample } from './cells.ts';

const CALLS = new Map([
  ['create', ['Describe', 'Create', 'Describe', 'Describe']],
  ['delete', ['Describe', 'Delete']],
]);

describe('the cells of the fault grid', () => {
  it('are one for each call and fault', () => {
    const cells = allCells(CALLS);
    expect(cells).to.have.length(6 * FAULTS.length);
    expect(new Set(cells.map(cellText)).size).to.equal(cells.length);
    expect(cells.filter(({ fault }) => fault === 'kill').map(cellText)).to.deep.equal([
      'create, Describe#1, kill',
      'create, Create#1, kill',
      'create, Describe#2, kill',
      'create, Describe#3, kill',
      'delete, Describe#1, kill',
      'delete, Delete#1, kill',
    ]);
  });

  it('are sampled so that each fault, operation and scenario is there, and a kill in each scenario', () => {
    for (const seed of [1, 2, 3]) {
      const chosen = sample(allCells(CALLS), seed);
      expect(new Set(chosen.map(({ fault }) => fault))).to.deep.equal(new Set(chosen.length > 0 ? FAULTS : []));
      expect(new Set(chosen.map(({ call }) => call.operation))).to.deep.equal(
        new Set(['Describe', 'Create', 'Delete']),
      );
      const killed = chosen.filter(({ fault }) => fault === 'kill').map(({ scenario }) => scenario);
      expect(new Set(killed)).to.deep.equal(new Set(['create', 'delete']));
      expect(chosen.length).to.be.below(15);
    }
  });

  it('are sampled the same for the same seed', () => {
    const texts = (seed: number): readonly string[] => sample(allCells(CALLS), seed).map(cellText);
    expect(texts(1)).to.deep.equal(texts(1));
    expect(texts(1)).not.to.deep.equal(texts(2));
  });
});
