import { expect } from 'chai';
import { FAULTS, allFaultCases, faultCaseText, sampleFaultCases } from './fault-cases.ts';

const CALLS = new Map([
  ['create', ['Describe', 'Create', 'Describe', 'Describe']],
  ['delete', ['Describe', 'Delete']],
]);

describe('the fault cases', () => {
  it('are one per call and fault', () => {
    const faultCases = allFaultCases(CALLS);
    expect(faultCases).to.have.length(6 * FAULTS.length);
    expect(new Set(faultCases.map(faultCaseText)).size).to.equal(faultCases.length);
    expect(faultCases.filter(({ fault }) => fault === 'kill').map(faultCaseText)).to.deep.equal([
      'create, Describe#1, kill',
      'create, Create#1, kill',
      'create, Describe#2, kill',
      'create, Describe#3, kill',
      'delete, Describe#1, kill',
      'delete, Delete#1, kill',
    ]);
  });

  it('are sampled with each fault, each operation, each scenario, and a kill in each scenario', () => {
    for (const seed of [1, 2, 3]) {
      const chosen = sampleFaultCases(allFaultCases(CALLS), seed);
      expect(new Set(chosen.map(({ fault }) => fault))).to.deep.equal(new Set(chosen.length > 0 ? FAULTS : []));
      expect(new Set(chosen.map(({ call }) => call.operation))).to.deep.equal(
        new Set(['Describe', 'Create', 'Delete']),
      );
      const killed = chosen.filter(({ fault }) => fault === 'kill').map(({ scenario }) => scenario);
      expect(new Set(killed)).to.deep.equal(new Set(['create', 'delete']));
      expect(chosen.length).to.be.below(15);
    }
  });

  it('are sampled equally for the same seed', () => {
    const texts = (seed: number): readonly string[] => sampleFaultCases(allFaultCases(CALLS), seed).map(faultCaseText);
    expect(texts(1)).to.deep.equal(texts(1));
    expect(texts(1)).not.to.deep.equal(texts(2));
  });
});
