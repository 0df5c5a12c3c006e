import { expect } from 'chai';
import fc from 'fast-check';
import type { Condition } from '../../api/v1beta2/index.ts';
import type { Stated } from './conditions.ts';
import { conditionOf, mergeConditions } from './conditions.ts';

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
const stated = (type: string, status: Condition['status'], over: Partial<Stated> = {}): Stated => ({
  type,
  status,
  reason: 'Why',
  message: '',
  ...over,
});

describe('mergeConditions', () => {
  it('gives a new condition its time', () => {
    expect(mergeConditions([], [stated('Ready', 'False')], NOW)).to.deep.equal([
      condition('Ready', 'False', { lastTransitionTime: NOW }),
    ]);
  });

  it('moves the time with the status', () => {
    const [ready] = mergeConditions([condition('Ready', 'False')], [stated('Ready', 'True')], NOW);
    expect(ready).to.include({ status: 'True', lastTransitionTime: NOW });
  });

  it('keeps the time when reason, message or generation alone change', () => {
    const said = stated('Ready', 'False', { reason: 'Other', message: 'other', observedGeneration: 2 });
    expect(mergeConditions([condition('Ready', 'False')], [said], NOW)).to.deep.equal([
      condition('Ready', 'False', { reason: 'Other', message: 'other', observedGeneration: 2 }),
    ]);
  });

  it('keeps what is not stated', () => {
    const paused = condition('Paused', 'True');
    expect(mergeConditions([paused], [stated('Ready', 'True')], NOW)).to.deep.include(paused);
  });

  it('keeps what somebody else has set', () => {
    const theirs = condition('SelectorsChecked', 'True', { severity: 'Info' });
    expect(mergeConditions([theirs], [stated('Ready', 'True')], NOW)).to.deep.include(theirs);
  });

  it('drops what Cluster API Provider AWS left behind and its severity on what is ours', () => {
    const left = [
      condition('EKSFargateCreating', 'True'),
      condition('EKSFargateDeleting', 'False'),
      condition('Ready', 'False', { severity: 'Error' }),
    ];
    expect(mergeConditions(left, [stated('Ready', 'False')], NOW)).to.deep.equal([condition('Ready', 'False')]);
  });

  it('puts the summary first and what ends the object last', () => {
    const types = ['Deleting', 'Stalled', 'Paused', 'Ready', 'CredentialsReady', 'Reconciling', 'Theirs'];
    const merged = mergeConditions(
      [condition('Theirs', 'True')],
      types.slice(0, -1).map((type) => stated(type, 'False')),
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

  it('says the same twice with the same words: nothing is written when nothing changed', () => {
    const aStatement = fc.record({
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
      fc.property(fc.uniqueArray(aCondition, each), fc.uniqueArray(aStatement, each), (before, statements) => {
        const once = mergeConditions(before, statements, NOW);
        const twice = mergeConditions(once, statements.toReversed(), '2026-11-22T00:00:00Z');
        expect(twice).to.deep.equal(once);
        const types = once.map(({ type }) => type);
        expect(new Set(types).size, 'each type once').to.equal(types.length);
      }),
    );
  });
});

describe('conditionOf', () => {
  it('finds by type', () => {
    const [ready, paused] = [condition('Ready', 'True'), condition('Paused', 'False')];
    expect(conditionOf([ready, paused], 'Paused')).to.equal(paused);
    expect(conditionOf([ready], 'Paused')).to.equal(undefined);
    expect(conditionOf(undefined, 'Ready')).to.equal(undefined);
  });
});
