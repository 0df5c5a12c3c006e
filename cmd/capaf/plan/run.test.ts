import { stripVTControlCharacters } from 'node:util';
import { expect } from 'chai';
import { describePlan } from './run.ts';

describe('describePlan', () => {
  it('prevents text from objects and AWS from controlling the terminal or imitating a line', () => {
    const hostile = 'a\u001b]0;\u202e\u009b2J\n  2. DeleteRole';
    const outcome = { ready: 'False', reason: hostile, message: hostile } as const;
    const uncovered = [{ namespace: hostile, labels: { [hostile]: hostile } }];
    const fields = [{ name: hostile, before: hostile, after: { [hostile]: hostile }, replaces: hostile, uncovered }];
    const changes = [
      {
        operation: 'TagRole',
        resource: hostile,
        fields,
        after: hostile,
        pods: { running: 2, withoutOwner: [hostile] },
      },
    ];
    const of = {
      namespace: 'a',
      name: hostile,
      clusterName: hostile,
      eksCluster: undefined,
      region: undefined,
      pausedBy: [hostile],
    };
    const object = { ...of, changes, then: outcome, end: outcome, overlaps: hostile };
    const text = stripVTControlCharacters(describePlan([object], hostile, [hostile]));
    expect(text).not.to.match(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
    expect(text).not.to.match(/^ {2}2\. /m);
    expect(text).to.match(/^ {7}The new profile does not take pods that match only the old selectors: namespace a/m);
    expect(text).to.contain('a\\u001b]0;\\u202e\\u009b2J 2. DeleteRole');
  });
});
