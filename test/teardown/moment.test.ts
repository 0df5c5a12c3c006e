import { expect } from 'chai';
import { allMoments, momentText, someMoments } from './moment.ts';

/** Two changes among six calls. */
const CALLS = [false, true, false, false, true, false].map((mutates) => ({ mutates }));

describe('the moments at which the manager is killed', () => {
  it('are one after each call and one before each change', () => {
    expect(allMoments(CALLS).map(momentText)).to.deep.equal([
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

  it('are sampled so that each change is there, and calls from all parts', () => {
    expect(someMoments(CALLS, 3).map(momentText)).to.deep.equal([
      'change 1, request lost',
      'change 1, answer lost',
      'change 2, request lost',
      'change 2, answer lost',
      'call 1, answer lost',
      'call 3, answer lost',
      'call 5, answer lost',
    ]);
  });
});
