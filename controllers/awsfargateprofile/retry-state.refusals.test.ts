import { expect } from 'chai';
import {
  NO_RETRY_STATE,
  notBeforeFor,
  withSuccess,
  waitedFor,
  refusalFor,
  refusedSince,
  withRefusal,
  mutationKey,
} from './retry-state.ts';
import type { Mutation } from './model/change.ts';
import { newReason } from './reasons/reasons.ts';
import { PROFILE, ROLE } from './testing/builders.ts';

const SECOND = 1_000;

describe('a refused mutation', () => {
  const attach = (policyArn: string): Mutation => ({ kind: 'attachPolicy', name: ROLE, policyArn });
  const mutation = mutationKey(attach('a'), undefined);
  const refusal = newReason('Refused', { detail: 'no' });
  const refused = { mutation, reason: refusal, generation: 1, since: 0, notBefore: 60 * SECOND };
  const state = withRefusal(NO_RETRY_STATE, refused, 0);

  it('is not sent again before its backoff is over, or a change of the spec', () => {
    expect(refusalFor(state, mutation, 1, 59_999)).to.equal(refusal);
    expect(refusalFor(state, mutation, 1, 60 * SECOND)).to.equal(undefined);
    expect(refusalFor(state, mutation, 2, 1)).to.equal(undefined);
  });

  it('does not hold back the same mutation under another identity', () => {
    const identity = { kind: 'AWSClusterRoleIdentity', name: 'tenant' };
    expect(refusalFor(state, mutationKey(attach('a'), identity), 1, 1)).to.equal(undefined);
  });

  it('is forgotten after a success', () => expect(withSuccess(state)).to.deep.equal({}));

  it('is held back together with a second one', () => {
    const other = mutationKey(attach('b'), undefined);
    const second = newReason('Refused', { detail: 'no again' });
    const both = withRefusal(state, { ...refused, mutation: other, reason: second, notBefore: 90 * SECOND }, SECOND);
    expect([refusalFor(both, mutation, 1, 2_000), refusalFor(both, other, 1, 2_000)]).to.deep.equal([refusal, second]);
    expect([notBeforeFor(both, refusal), notBeforeFor(both, second)]).to.deep.equal([60 * SECOND, 90 * SECOND]);
  });

  it('replaces its earlier refusal', () => {
    const again = withRefusal(state, { ...refused, notBefore: 180 * SECOND }, 30 * SECOND);
    expect(again.refused).to.have.length(1);
    expect(notBeforeFor(again, refusal)).to.equal(180 * SECOND);
  });

  it('is forgotten at the next refusal once its backoff is over', () => {
    const next = { ...refused, mutation: mutationKey(attach('b'), undefined), notBefore: 180 * SECOND };
    expect(withRefusal(state, next, 59_999).refused).to.deep.equal([refused, next]);
    expect(withRefusal(state, next, 60 * SECOND).refused).to.deep.equal([next]);
  });

  it('is still held back after a reconcile that reports it as a notice, and its wait continues', () => {
    const tolerated = withSuccess(state, [refusal], 5_000);
    expect(refusalFor(tolerated, mutation, 1, 59_999)).to.equal(refusal);
    expect(waitedFor(withSuccess(tolerated, [refusal], 30_000), refusal, 65_000)).to.equal(60 * SECOND);
  });

  it('keeps its own time while the object waits for a drain or a deletion', () => {
    const removing = newReason('RemovingPredecessor', { name: 'new', predecessor: 'old' });
    const tolerated = withSuccess(state, [refusal, removing], 5_000);
    expect(waitedFor(tolerated, removing, 65_000)).to.equal(60 * SECOND);
    expect(refusedSince(tolerated, newReason('Refused', { detail: 'no again' }), 65_000)).to.equal(0);
    expect(refusedSince(tolerated, newReason('QuotaExceeded', { detail: 'no' }), 65_000)).to.equal(65_000);
  });

  it('is forgotten after a reconcile with the notice of another problem', () => {
    const notice = newReason('NotAllowedByOperator', { excess: [], about: 'IAMFargateRolesReady' });
    expect(withSuccess(state, [notice], 5_000)).to.deep.equal({});
  });
});

describe('mutationKey', () => {
  it('differs for different mutations', () => {
    const mutations: readonly Mutation[] = [
      { kind: 'deleteProfile', name: PROFILE, because: 'failed' },
      { kind: 'deleteRole', name: ROLE },
      { kind: 'tagRole', name: ROLE, tags: { a: 'x' } },
      { kind: 'tagRole', name: ROLE, tags: { a: 'y' } },
    ];
    expect(new Set(mutations.map((mutation) => mutationKey(mutation, undefined))).size).to.equal(mutations.length);
  });
});
