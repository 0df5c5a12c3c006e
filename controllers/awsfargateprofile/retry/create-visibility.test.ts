import { expect } from 'chai';
import { isCreateUnconfirmed, withConfirmedCreate, withUnconfirmedCreate } from './create-visibility.ts';
import { NO_RETRY_STATE, withSuccess } from './retry-state.ts';

describe('isCreateUnconfirmed', () => {
  const request = { createRequestedAt: '2026-11-21T03:25:00Z' };
  const ARN = 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/c/p/0ec0ffee';

  it('is true for a minute from the first pass after the create request', () => {
    const state = withUnconfirmedCreate(NO_RETRY_STATE, request, 1_000);
    expect(isCreateUnconfirmed(state, 1_000)).to.equal(true);
    expect(isCreateUnconfirmed(withUnconfirmedCreate(state, request, 60_999), 60_999)).to.equal(true);
    expect(isCreateUnconfirmed(state, 61_000)).to.equal(false);
  });

  it('is true for another minute after another create request', () => {
    const state = withUnconfirmedCreate(NO_RETRY_STATE, request, 0);
    const again = withUnconfirmedCreate(state, { createRequestedAt: '2026-11-21T03:26:00Z' }, 70_000);
    expect(isCreateUnconfirmed(again, 70_000)).to.equal(true);
  });

  it('is false without a create request, and once status records the profile', () => {
    expect(isCreateUnconfirmed(withUnconfirmedCreate(NO_RETRY_STATE, undefined, 0), 0)).to.equal(false);
    expect(isCreateUnconfirmed(withUnconfirmedCreate(NO_RETRY_STATE, {}, 0), 0)).to.equal(false);
    expect(isCreateUnconfirmed(withUnconfirmedCreate(NO_RETRY_STATE, { ...request, profileARN: ARN }, 0), 0)).to.equal(
      false,
    );
  });

  it('stays false once a pass has observed the profile, even if the profile has disappeared since', () => {
    const state = withConfirmedCreate(withUnconfirmedCreate(NO_RETRY_STATE, request, 0), request.createRequestedAt);
    expect(isCreateUnconfirmed(withUnconfirmedCreate(state, request, 1), 1)).to.equal(false);
    expect(isCreateUnconfirmed(withUnconfirmedCreate(withSuccess(state), request, 2), 2)).to.equal(false);
  });

  it('is true again after each create that is sent', () => {
    const state = withConfirmedCreate(withConfirmedCreate(NO_RETRY_STATE, request.createRequestedAt), undefined);
    expect(isCreateUnconfirmed(withUnconfirmedCreate(state, request, 1), 1)).to.equal(true);
  });
});
