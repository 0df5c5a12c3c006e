import { expect } from 'chai';
import type { Memory } from './memory.ts';
import {
  BLANK,
  attemptsOf,
  isCreateUnseen,
  notBeforeOf,
  refusalOf,
  rememberAttempt,
  rememberFailed,
  rememberRefusal,
  rememberAnswered,
  rememberSuccess,
  rememberUnseen,
  rememberWaiting,
  waitedFor,
  whatOf,
} from './memory.ts';
import type { Mutation } from './model.ts';
import { why } from './reasons.ts';
import { PROFILE, ROLE } from './testing/builders.ts';

const SECOND = 1_000;
const creating = why('Creating', { name: 'a' });
const deleting = why('DeletingProfile', { name: 'a' });
const failed = why('CreateFailed', { name: 'a', issues: [] });

describe('how long an object has waited', () => {
  it('is nothing at first', () => expect(waitedFor(BLANK, creating, 5_000)).to.equal(0));

  it('counts from when it began', () => {
    const memory = rememberWaiting(BLANK, creating, 1_000);
    expect(waitedFor(memory, creating, 4_000)).to.equal(3_000);
    expect(waitedFor(rememberWaiting(memory, creating, 4_000), creating, 9_000)).to.equal(8_000);
  });

  it('counts anew for something else', () => {
    const memory = rememberWaiting(rememberWaiting(BLANK, creating, 1_000), deleting, 4_000);
    expect(waitedFor(memory, deleting, 5_000)).to.equal(1_000);
    expect(waitedFor(memory, creating, 5_000)).to.equal(0);
  });

  it('is over when there is nothing to wait for', () => {
    expect(rememberWaiting(rememberWaiting(BLANK, creating, 1_000), undefined, 2_000)).to.deep.equal({});
  });

  it('takes facts that change for the same wait', () => {
    const memory = rememberWaiting(BLANK, why('ClusterUpdating', { cluster: 'c', remaining: 9 }), 0);
    expect(waitedFor(memory, why('ClusterUpdating', { cluster: 'c', remaining: 3 }), 7)).to.equal(7);
  });
});

describe('a change that was refused', () => {
  const attach = (policyArn: string): Mutation => ({ kind: 'attachPolicy', name: ROLE, policyArn });
  const what = whatOf(attach('a'), undefined);
  const refusal = why('AccessDenied', { words: 'no' });
  const memory = rememberRefusal(BLANK, { what, why: refusal, generation: 1, notBefore: 60 * SECOND });

  it('is not tried again before its time', () => {
    expect(refusalOf(memory, what, 1, 59_999)).to.equal(refusal);
    expect(refusalOf(memory, what, 1, 60 * SECOND)).to.equal(undefined);
  });

  it('is tried at once when the spec has changed', () => expect(refusalOf(memory, what, 2, 1)).to.equal(undefined));

  it('does not keep another change', () => {
    expect(refusalOf(memory, whatOf(attach('b'), undefined), 1, 1)).to.equal(undefined);
    expect(refusalOf(memory, whatOf({ kind: 'deleteRole', name: ROLE }, undefined), 1, 1)).to.equal(undefined);
  });

  it('does not keep the same change under another identity', () => {
    const identity = { kind: 'AWSClusterRoleIdentity', name: 'tenant' };
    expect(refusalOf(memory, whatOf(attach('a'), identity), 1, 1)).to.equal(undefined);
  });

  it('is due at its time', () => {
    expect(notBeforeOf(memory, refusal)).to.equal(60 * SECOND);
    expect(notBeforeOf(memory, creating)).to.equal(undefined);
  });

  it('is forgotten once all is well', () => expect(rememberSuccess(memory)).to.deep.equal({}));
});

describe('a profile that failed', () => {
  it('is tried again after ten seconds from when it was seen to fail', () => {
    const memory = rememberFailed(BLANK, 1, 5_000);
    expect(memory.recovery).to.deep.equal({ generation: 1, attempts: 0, notBefore: 15_000 });
    expect(rememberFailed(memory, 1, 9_000).recovery.notBefore, 'not put off by being looked at').to.equal(15_000);
    expect(notBeforeOf(memory, failed)).to.equal(15_000);
  });

  it('is tried again ever more slowly, after ten minutes at most', () => {
    let memory: Memory = BLANK;
    const pauses = Array.from({ length: 9 }, () => {
      const seen = rememberFailed(memory, 1, 0);
      memory = rememberAttempt(seen, 1);
      return (seen.recovery.notBefore ?? 0) / SECOND;
    });
    expect(pauses).to.deep.equal([10, 20, 40, 80, 160, 320, 600, 600, 600]);
    expect(attemptsOf(memory, 1)).to.equal(9);
  });

  it('is tried at once, and counted anew, when the spec has changed', () => {
    const often = rememberAttempt(rememberFailed(rememberAttempt(BLANK, 1), 1, 0), 1);
    expect(rememberFailed(often, 2, 7_000).recovery).to.deep.equal({ generation: 2, attempts: 0, notBefore: 7_000 });
    expect(attemptsOf(often, 2)).to.equal(0);
  });

  it('is forgotten once all is well', () => {
    expect(rememberSuccess(rememberAttempt(BLANK, 1))).to.deep.equal({});
  });
});

describe('a create whose answer was not seen', () => {
  const asked = { createRequestedAt: '2026-11-21T03:25:00Z' };
  const ARN = 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/c/p/0ec0ffee';

  it('may still appear for a minute from the first look', () => {
    const memory = rememberUnseen(BLANK, asked, 1_000);
    expect(isCreateUnseen(memory, 1_000)).to.equal(true);
    expect(isCreateUnseen(rememberUnseen(memory, asked, 60_999), 60_999)).to.equal(true);
    expect(isCreateUnseen(memory, 61_000)).to.equal(false);
  });

  it('counts anew for another create', () => {
    const memory = rememberUnseen(BLANK, asked, 0);
    const again = rememberUnseen(memory, { createRequestedAt: '2026-11-21T03:26:00Z' }, 70_000);
    expect(isCreateUnseen(again, 70_000)).to.equal(true);
  });

  it('is none where nothing was asked for, or the profile is known', () => {
    expect(isCreateUnseen(rememberUnseen(BLANK, undefined, 0), 0)).to.equal(false);
    expect(isCreateUnseen(rememberUnseen(BLANK, {}, 0), 0)).to.equal(false);
    expect(isCreateUnseen(rememberUnseen(BLANK, { ...asked, profileARN: ARN }, 0), 0)).to.equal(false);
  });

  it('is over once the profile was seen, though it may have gone since', () => {
    const memory = rememberAnswered(rememberUnseen(BLANK, asked, 0), asked.createRequestedAt);
    expect(isCreateUnseen(rememberUnseen(memory, asked, 1), 1)).to.equal(false);
    expect(isCreateUnseen(rememberUnseen(rememberSuccess(memory), asked, 2), 2)).to.equal(false);
  });

  it('begins with each create that is sent', () => {
    const memory = rememberAnswered(rememberAnswered(BLANK, asked.createRequestedAt), undefined);
    expect(isCreateUnseen(rememberUnseen(memory, asked, 1), 1)).to.equal(true);
  });
});

describe('whatOf', () => {
  it('tells changes apart', () => {
    const changes: readonly Mutation[] = [
      { kind: 'deleteProfile', name: PROFILE, because: 'failed' },
      { kind: 'deleteRole', name: ROLE },
      { kind: 'tagRole', name: ROLE, tags: { a: 'x' } },
      { kind: 'tagRole', name: ROLE, tags: { a: 'y' } },
    ];
    expect(new Set(changes.map((change) => whatOf(change, undefined))).size).to.equal(changes.length);
  });
});
