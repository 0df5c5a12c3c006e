import { expect } from 'chai';
import type { RawCondition } from '../../envtest/clients/api.ts';
import { findConditionChanges, describeConditionChanges } from './condition-changes.ts';

const condition = (type: string, status: string, reason = 'Because', message = ''): RawCondition => ({
  type,
  status,
  reason,
  message,
});

describe('the condition changes that the demo prints', () => {
  it('are those of status, reason or message, in the order of the object', () => {
    const before = [
      condition('Ready', 'False', 'Waiting', 'for one'),
      condition('A', 'True'),
      condition('B', 'True'),
      condition('C', 'True'),
    ];
    const after = [
      condition('Ready', 'False', 'Waiting', 'for another'),
      condition('A', 'True'),
      condition('B', 'Unknown'),
      condition('C', 'True', 'Other'),
    ];
    expect(findConditionChanges(before, after).map(({ type }) => type)).to.deep.equal(['Ready', 'B', 'C']);
    expect(findConditionChanges(after, after)).to.deep.equal([]);
  });

  it('are not those of times and generations', () => {
    const then = { ...condition('Ready', 'True'), lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1 };
    const now = { ...then, lastTransitionTime: '2026-01-02T00:00:00Z', observedGeneration: 2 };
    expect(findConditionChanges([then], [now])).to.deep.equal([]);
  });

  it('are initially all conditions except those whose normal status is False', () => {
    const first = [
      condition('Ready', 'False'),
      condition('CredentialsReady', 'Unknown'),
      condition('Reconciling', 'True'),
      condition('Stalled', 'False'),
    ];
    expect(findConditionChanges([], first).map(({ type }) => type)).to.deep.equal([
      'Ready',
      'CredentialsReady',
      'Reconciling',
    ]);
    expect(findConditionChanges([condition('Stalled', 'True')], first.slice(3))).to.have.length(1);
  });

  it('contain a repeated message once', () => {
    const words = describeConditionChanges([
      condition('Ready', 'False', 'Creating', 'EKS is creating it'),
      condition('CredentialsReady', 'True', 'Authenticated'),
      condition('Reconciling', 'True', 'Creating', 'EKS is creating it'),
      condition('Stalled', 'True', 'Late', 'it takes long'),
    ]);
    expect(words).to.deep.equal(['Creating: EKS is creating it', 'Authenticated', 'Creating', 'Late: it takes long']);
  });
});
