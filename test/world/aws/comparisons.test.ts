import { expect } from 'chai';
import type { CallRecord } from '../../aws/call-log.ts';
import { groupCallsByResync } from './comparisons.ts';

const OPERATIONS: Readonly<Record<string, string>> = {
  D: 'DescribeFargateProfile',
  G: 'GetRole',
  L: 'ListAttachedRolePolicies',
  C: 'CreateRole',
};

/**
 * Turns a text into AWS calls: each letter is a call, and each dash is a pause of 425 ms. A call arrives 1 ms after the
 * previous call or pause.
 */
function callsOf(text: string): readonly CallRecord[] {
  let at = 0;
  return [...text].flatMap((letter, seq) => {
    at += letter === '-' ? 425 : 1;
    const operation = OPERATIONS[letter];
    if (operation === undefined) return [];
    const call = { seq, at, operation, requestId: '', service: 'eks', mutates: false, applied: false } as const;
    return [{ ...call, userAgent: '', identifiers: {} }];
  });
}

const lettersOf = (text: string): readonly string[] =>
  groupCallsByResync(callsOf(text), 500).map((calls) => calls.map(({ operation }) => operation.charAt(0)).join(''));

describe('groupCallsByResync', () => {
  for (const [what, calls, expected] of [
    ['complete comparisons with the reads in any order', 'DGL-GLD-LDG', ['DGL', 'GLD', 'LDG']],
    ['complete comparisons after an incomplete first one', 'L-DGL-DGL', ['DGL', 'DGL']],
    ['complete comparisons before an incomplete last one', 'DGL-DGL-DG', ['DGL', 'DGL']],
    ['complete comparisons between two incomplete ones', 'GL-DGL-DGL-GL', ['DGL', 'DGL']],
    ['comparisons of the profile alone between the others', 'D-DGL-D-LDG-D', ['D', 'DGL', 'D', 'LDG', 'D']],
    ['no comparisons without calls', '', []],
  ] as const)
    it(`finds ${what}`, () => expect(lettersOf(calls)).to.deep.equal(expected));

  for (const [what, calls] of [
    ['a comparison with the same read twice', 'DGL-DGGL-DGL'],
    ['a comparison without one of the reads', 'DGL-DL-DGL-DGL'],
    ['a comparison that begins before the end of the previous one', 'DGL-DGD-LGL'],
    ['the profile alone twice in succession', 'DGL-D-D-DGL'],
    ['the role alone', 'DGL-G-DGL'],
    ['a call of another operation', 'DGL-C-DGL'],
  ] as const)
    it(`refuses ${what}`, () => expect(() => lettersOf(calls)).to.throw(/^the calls are not comparisons/));

  it('refuses a comparison after too short a pause', () => {
    expect(() => lettersOf('DGL-DGLDGL')).to.throw('the calls are not comparisons at intervals of 500 ms');
  });
});
