import { expect } from 'chai';
import type { CallRecord } from '../aws/call-log.ts';
import { comparisonsIn } from './comparisons.ts';

const OPERATIONS: Readonly<Record<string, string>> = {
  D: 'DescribeFargateProfile',
  G: 'GetRole',
  L: 'ListAttachedRolePolicies',
  C: 'CreateRole',
};

/** A letter is a call, one in each millisecond; a dash a pause of 450 ms. */
function callsOf(text: string): readonly CallRecord[] {
  let at = 0;
  return [...text].flatMap((letter, seq) => {
    at += letter === '-' ? 450 : 1;
    const operation = OPERATIONS[letter];
    if (operation === undefined) return [];
    const call = { seq, at, operation, requestId: '', service: 'eks', mutates: false, applied: false } as const;
    return [{ ...call, userAgent: '', nouns: {} }];
  });
}

const lettersOf = (text: string): readonly string[] =>
  comparisonsIn(callsOf(text), 500).map((calls) => calls.map(({ operation }) => operation.charAt(0)).join(''));

describe('comparisonsIn', () => {
  for (const [what, calls, expected] of [
    ['whole ones, in whatever order they ask', 'DGL-GLD-LDG', ['DGL', 'GLD', 'LDG']],
    ['a first one that had begun before', 'L-DGL-DGL', ['DGL', 'DGL']],
    ['a last one that is under way', 'DGL-DGL-DG', ['DGL', 'DGL']],
    ['both', 'GL-DGL-DGL-D', ['DGL', 'DGL']],
    ['none', '', []],
  ] as const)
    it(`finds ${what}`, () => expect(lettersOf(calls)).to.deep.equal(expected));

  for (const [what, calls] of [
    ['a question that is asked twice', 'DGL-DGGL-DGL'],
    ['a question that is left out', 'DGL-DL-DGL-DGL'],
    ['the next one before the end of the one before', 'DGL-DGD-LGL'],
    ['a call that is no such question', 'DGL-C-DGL'],
  ] as const)
    it(`refuses ${what}`, () =>
      expect(() => lettersOf(calls)).to.throw(/^(not three questions each|again after 1 ms)/));

  it('refuses one that comes too soon', () => {
    expect(() => lettersOf('DGL-DGLDGL')).to.throw('again after 1 ms, not 500');
  });
});
