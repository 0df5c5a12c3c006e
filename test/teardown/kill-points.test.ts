import { expect } from 'chai';
import { allKillPoints, killPointText } from './kill-points.ts';

/** Six AWS calls, of which the second and the fifth change AWS. */
const CALLS = [false, true, false, false, true, false].map((mutates) => ({ mutates }));

describe('the kill points of a teardown', () => {
  it('are one after each call and one before each mutation', () => {
    expect(allKillPoints(CALLS).map(killPointText)).to.deep.equal([
      'call 1, answer lost',
      'call 2, answer lost',
      'call 3, answer lost',
      'call 4, answer lost',
      'call 5, answer lost',
      'call 6, answer lost',
      'change 1, request lost',
      'change 2, request lost',
    ]);
  });
});
