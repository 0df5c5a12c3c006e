import { expect } from 'chai';
import type { Condition } from '../../api/v1beta2/index.ts';
import type { Pass } from './pass.ts';
import type { Why } from './reasons.ts';
import { PATIENCE, why } from './reasons.ts';
import { statedBy } from './stated.ts';
import { NOW, PROFILE, anObject } from './testing/builders.ts';

const CREATING = why('Creating', { name: PROFILE });
const FAILED = why('CreateFailed', { name: PROFILE, issues: [] });

function standingOf(end: Why, attempts: number, conditions: readonly Condition[] = []): Record<string, string> {
  const object = anObject({ status: { conditions } });
  const pass: Pass = { object, end: { kind: 'stopped', why: end }, trail: [], now: NOW, waited: 0, attempts };
  const stated = statedBy(pass).filter(({ type }) => type === 'Reconciling' || type === 'Stalled');
  return Object.fromEntries(stated.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
}

describe('statedBy', () => {
  const stalled: Condition = {
    type: 'Stalled',
    status: 'True',
    reason: 'CreateFailed',
    lastTransitionTime: '2026-11-21T03:00:00Z',
  };

  it('says of what failed that it is tried again, and after some tries that somebody should look', () => {
    expect(standingOf(FAILED, PATIENCE - 1)).to.deep.equal({
      Reconciling: 'True CreateFailed',
      Stalled: 'False NotStalled',
    });
    expect(standingOf(FAILED, PATIENCE)).to.deep.equal({ Reconciling: 'False Stalled', Stalled: 'True CreateFailed' });
  });

  it('says no less while it is tried once more, and never both', () => {
    expect(standingOf(CREATING, PATIENCE, [stalled])).to.deep.equal({
      Reconciling: 'False Stalled',
      Stalled: 'True CreateFailed',
    });
  });

  it('begins anew with another spec', () => {
    expect(standingOf(CREATING, 0, [stalled])).to.deep.equal({
      Reconciling: 'True Creating',
      Stalled: 'False NotStalled',
    });
  });
});
