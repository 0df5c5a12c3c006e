import { expect } from 'chai';
import fc from 'fast-check';
import type { Condition } from '../../../api/v1beta2/index.ts';
import { type ConditionUpdate, mergeConditions } from './condition-list.ts';

const THEN = '2026-11-20T10:00:00Z';
const NOW = '2026-11-21T03:25:00Z';

const condition = (type: string, status: Condition['status'], over: Partial<Condition> = {}): Condition => ({
  type,
  status,
  lastTransitionTime: THEN,
  reason: 'Why',
  message: '',
  ...over,
});
const update = (type: string, status: Condition['status'], over: Partial<ConditionUpdate> = {}): ConditionUpdate => ({
  type,
  status,
  reason: 'Why',
  message: '',
  ...over,
});

describe('mergeConditions', () => {
  it('keeps the time when only reason, message or generation change', () => {
    const changed = update('Ready', 'False', { reason: 'Other', message: 'other', observedGeneration: 2 });
    expect(mergeConditions([condition('Ready', 'False')], [changed], NOW)).to.deep.equal([
      condition('Ready', 'False', { reason: 'Other', message: 'other', observedGeneration: 2 }),
    ]);
  });

  it('keeps a condition of another controller', () => {
    const theirs = condition('SelectorsChecked', 'True', { severity: 'Info' });
    expect(mergeConditions([theirs], [update('Ready', 'True')], NOW)).to.deep.include(theirs);
  });

  it('drops the conditions of Cluster API Provider AWS, and its severity on our conditions', () => {
    const leftover = [
      condition('EKSFargateCreating', 'True'),
      condition('EKSFargateDeleting', 'False'),
      condition('Ready', 'False', { severity: 'Error' }),
    ];
    expect(mergeConditions(leftover, [update('Ready', 'False')], NOW)).to.deep.equal([condition('Ready', 'False')]);
  });

  it('puts Ready first, then the other conditions, then Paused and Deleting', () => {
    const types = ['Deleting', 'Stalled', 'Paused', 'Ready', 'CredentialsReady', 'Reconciling', 'Theirs'];
    const merged = mergeConditions(
      [condition('Theirs', 'True')],
      types.slice(0, -1).map((type) => update(type, 'False')),
      NOW,
    );
    expect(merged.map(({ type }) => type)).to.deep.equal([
      'Ready',
      'CredentialsReady',
      'Reconciling',
      'Stalled',
      'Theirs',
      'Paused',
      'Deleting',
    ]);
  });

  it('returns an equal list for the same updates, so that status is not written again', () => {
    const anUpdate = fc.record({
      type: fc.constantFrom('Ready', 'Stalled', 'Reconciling', 'Deleting', 'Paused', 'CredentialsReady'),
      status: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
      reason: fc.constantFrom('A', 'B'),
      message: fc.constantFrom('', 'words'),
    });
    const aCondition = fc.record({
      type: fc.constantFrom('Ready', 'Stalled', 'Theirs', 'Another', 'EKSFargateCreating'),
      status: fc.constantFrom('True' as const, 'False' as const),
      lastTransitionTime: fc.constant(THEN),
    });
    const each = { selector: ({ type }: { type: string }) => type };
    fc.assert(
      fc.property(fc.uniqueArray(aCondition, each), fc.uniqueArray(anUpdate, each), (before, updates) => {
        const once = mergeConditions(before, updates, NOW);
        const twice = mergeConditions(once, updates.toReversed(), '2026-11-22T00:00:00Z');
        expect(twice).to.deep.equal(once);
        const types = once.map(({ type }) => type);
        expect(new Set(types).size, 'each type once').to.equal(types.length);
      }),
    );
  });
});
