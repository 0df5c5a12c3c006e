import { expect } from 'chai';
import { EMPTY_RECORD } from '../shared/record.ts';
import { type RetryState, NO_RETRY_STATE, withSuccess, withWait, waitedFor } from './retry-state.ts';
import { newReason } from './reasons/reasons.ts';

const creating = newReason('Creating', { name: 'a' });
const deleting = newReason('DeletingProfile', { name: 'a' });

describe('waitedFor', () => {
  it('is 0 before a wait', () => expect(waitedFor(NO_RETRY_STATE, creating, 5_000)).to.equal(0));

  it('counts from the start of the wait', () => {
    const state = withWait(NO_RETRY_STATE, creating, 1_000);
    expect(waitedFor(state, creating, 4_000)).to.equal(3_000);
    expect(waitedFor(withWait(state, creating, 4_000), creating, 9_000)).to.equal(8_000);
  });

  it('starts again for another reason', () => {
    const state = withWait(withWait(NO_RETRY_STATE, creating, 1_000), deleting, 4_000);
    expect(waitedFor(state, deleting, 5_000)).to.equal(1_000);
    expect(waitedFor(state, creating, 5_000)).to.equal(0);
  });

  it('continues the wait when only the facts of the reason change', () => {
    const state = withWait(NO_RETRY_STATE, newReason('ClusterUpdating', { cluster: 'c', said: 'no', remaining: 9 }), 0);
    expect(waitedFor(state, newReason('ClusterUpdating', { cluster: 'c', said: 'no', remaining: 3 }), 7)).to.equal(7);
  });
});

describe('withSuccess', () => {
  it('ends wait and backoff, and keeps what this process knows of AWS', () => {
    const known: RetryState = {
      recorded: EMPTY_RECORD,
      unanswered: { 'profile a 1000': { since: 7 } },
      surveyed: { until: 3_600_000 },
    };
    const trustRejected = { generation: 1, since: 5 };
    expect(withSuccess({ ...withWait(known, creating, 1_000), trustRejected })).to.deep.equal(known);
  });
});
