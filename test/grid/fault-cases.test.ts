import { expect } from 'chai';
import { FAULTS, allFaultCases, faultCaseText } from './fault-cases.ts';

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
});
