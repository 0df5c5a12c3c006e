import { expect } from 'chai';
import {
  type RetryState,
  NO_RETRY_STATE,
  notBeforeFor,
  withSuccess,
  attemptsOf,
  withAttempt,
  withProfileFailure,
} from './retry-state.ts';
import { newReason } from './reasons/reasons.ts';

const SECOND = 1_000;
const failed = newReason('CreateFailed', { name: 'a', issues: [] });

describe('a failed profile', () => {
  it('is retried ten seconds after a reconcile first observed the failure', () => {
    const state = withProfileFailure(NO_RETRY_STATE, 1, 5_000);
    expect(state.recovery).to.deep.equal({ generation: 1, attempts: 0, notBefore: 15_000 });
    expect(withProfileFailure(state, 1, 9_000).recovery?.notBefore, 'not postponed by the next observation').to.equal(
      15_000,
    );
    expect(notBeforeFor(state, failed)).to.equal(15_000);
  });

  it('is retried with a backoff that doubles up to ten minutes', () => {
    let state: RetryState = NO_RETRY_STATE;
    const pauses = Array.from({ length: 9 }, () => {
      const afterFailure = withProfileFailure(state, 1, 0);
      state = withAttempt(afterFailure, 1);
      return (afterFailure.recovery?.notBefore ?? 0) / SECOND;
    });
    expect(pauses).to.deep.equal([10, 20, 40, 80, 160, 320, 600, 600, 600]);
    expect(attemptsOf(state, 1)).to.equal(9);
  });

  it('is retried at once, and counted from 0, when the spec has changed', () => {
    const retriedTwice = withAttempt(withProfileFailure(withAttempt(NO_RETRY_STATE, 1), 1, 0), 1);
    expect(withProfileFailure(retriedTwice, 2, 7_000).recovery).to.deep.equal({
      generation: 2,
      attempts: 0,
      notBefore: 7_000,
    });
    expect(attemptsOf(retriedTwice, 2)).to.equal(0);
  });

  it('is forgotten after a success', () => {
    expect(withSuccess(withAttempt(NO_RETRY_STATE, 1))).to.deep.equal({});
  });

  it('is remembered while the failed profile is the predecessor of one that serves pods', () => {
    const removing = newReason('RemovingPredecessor', { name: 'new', predecessor: 'old' });
    const { recovery } = withProfileFailure(NO_RETRY_STATE, 1, 0);
    expect(withSuccess({ ...(recovery && { recovery }) }, [removing]).recovery).to.deep.equal(recovery);
  });
});
