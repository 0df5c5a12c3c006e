import { expect } from 'chai';
import type { CallRecord } from '../../test/aws/call-log.ts';
import { countComparisons, countCalls, latenessOf, spanOfFirstChanges } from './calls.ts';

let seq = 0;

const call = (operation: string, change: Partial<CallRecord> = {}): CallRecord => ({
  seq: (seq += 1),
  at: 0,
  requestId: '',
  service: 'eks',
  operation,
  mutates: false,
  applied: false,
  userAgent: '',
  identifiers: { clusterName: 'c', fargateProfileName: 'p' },
  status: 200,
  ...change,
});

const change = (operation: string): CallRecord => call(operation, { mutates: true, applied: true });

describe('the counts of AWS calls', () => {
  it('count each describe of a profile after its accepted create as a poll', () => {
    const counts = countCalls([
      call('DescribeFargateProfile', { status: 404, errorCode: 'ResourceNotFoundException' }),
      change('CreateFargateProfile'),
      call('DescribeFargateProfile'),
      call('DescribeFargateProfile', { identifiers: { clusterName: 'c', fargateProfileName: 'another' } }),
      call('DescribeFargateProfile'),
    ]);
    expect(counts).to.include({ total: 5, polls: 2, mutations: 1 });
  });

  it('count no polls after a refused create', () => {
    const refused = call('CreateFargateProfile', { mutates: true, status: 409, errorCode: 'ResourceInUseException' });
    expect(countCalls([refused, call('DescribeFargateProfile')])).to.include({ polls: 0, failed: 1 });
  });

  it('separate throttled calls, failed calls and not-found answers', () => {
    const counts = countCalls([
      call('DescribeFargateProfile', { status: 404, errorCode: 'ResourceNotFoundException' }),
      call('DescribeAccessEntry', { status: 404, errorCode: 'ResourceNotFoundException' }),
      call('GetRole', { service: 'iam', status: 404, errorCode: 'NoSuchEntity' }),
      call('GetRole', { service: 'iam', status: 400, errorCode: 'Throttling' }),
      call('DescribeFargateProfile', { status: 429, errorCode: 'ThrottlingException' }),
      call('DeleteRole', { service: 'iam', mutates: true, status: 409, errorCode: 'DeleteConflict' }),
    ]);
    expect(counts).to.include({ throttled: 2, failed: 1 });
  });

  it('list the answers of each operation', () => {
    const { status: _none, ...unanswered } = call('GetRole', { service: 'iam' });
    const calls = [call('ListFargateProfiles'), call('ListFargateProfiles'), unanswered];
    expect(countCalls(calls).byOperation).to.deep.equal({
      'eks:ListFargateProfiles': { 200: 2 },
      'iam:GetRole': { unanswered: 1 },
    });
  });
});

describe('the lateness of the emulator', () => {
  it('is the time of 99 of 100 calls beyond the delay of a call', () => {
    const calls = Array.from({ length: 100 }, (_, index) => call('GetRole', { at: 1_000, actedAt: 1_020 + index }));
    const { actedAt: _none, ...pending } = call('GetRole');
    expect(latenessOf([...calls, pending], 20)).to.equal(98);
  });

  it('is 0 without a call', () => {
    expect(latenessOf([], 20)).to.equal(0);
  });
});

describe('the comparisons of profiles with AWS', () => {
  it('are counted by their description, whatever AWS answers', () => {
    const missing = { status: 404, errorCode: 'ResourceNotFoundException' };
    const calls = [call('DescribeFargateProfile'), call('DescribeFargateProfile', missing), call('GetRole')];
    expect(countComparisons(countCalls(calls))).to.equal(2);
  });
});

describe('the time until EKS has a change in every cluster', () => {
  const create = (clusterName: string, at: number, fields: Partial<CallRecord> = {}): CallRecord =>
    call('CreateFargateProfile', { identifiers: { clusterName }, at, mutates: true, applied: true, ...fields });

  it('ends with the first accepted create of the last cluster', () => {
    const calls = [
      call('GetRole', { at: 1_000 }),
      create('a', 1_200),
      create('b', 1_300, { applied: false }),
      create('b', 1_700),
      create('a', 4_000),
    ];
    expect(spanOfFirstChanges(calls)).to.equal(700);
  });
});
