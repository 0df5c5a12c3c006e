import { expect } from 'chai';
import type { Condition } from '../envtest/api.ts';
import { changesOf, wordsOf } from './changes.ts';

const condition = (type: string, status: string, reason = 'Because', message = ''): Condition => ({
  type,
  status,
  reason,
  message,
});

describe('what the demo tells of conditions', () => {
  it('is what changed: status, reason or message, in the order of the object', () => {
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
    expect(changesOf(before, after).map(({ type }) => type)).to.deep.equal(['Ready', 'B', 'C']);
    expect(changesOf(after, after)).to.deep.equal([]);
  });

  it('is not that time has passed', () => {
    const then = { ...condition('Ready', 'True'), lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1 };
    const now = { ...then, lastTransitionTime: '2026-01-02T00:00:00Z', observedGeneration: 2 };
    expect(changesOf([then], [now])).to.deep.equal([]);
  });

  it('is at first sight everything but what is False and good so', () => {
    const first = [
      condition('Ready', 'False'),
      condition('CredentialsReady', 'Unknown'),
      condition('Reconciling', 'True'),
      condition('Stalled', 'False'),
    ];
    expect(changesOf([], first).map(({ type }) => type)).to.deep.equal(['Ready', 'CredentialsReady', 'Reconciling']);
    expect(changesOf([condition('Stalled', 'True')], first.slice(3))).to.have.length(1);
  });

  it('says one message once', () => {
    const words = wordsOf([
      condition('Ready', 'False', 'Creating', 'EKS is creating it'),
      condition('CredentialsReady', 'True', 'Authenticated'),
      condition('Reconciling', 'True', 'Creating', 'EKS is creating it'),
      condition('Stalled', 'True', 'Late', 'it takes long'),
    ]);
    expect(words).to.deep.equal(['Creating: EKS is creating it', 'Authenticated', 'Creating', 'Late: it takes long']);
  });
});
