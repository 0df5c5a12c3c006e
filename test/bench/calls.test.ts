import { expect } from 'chai';
import type { CallRecord } from '../aws/call-log.ts';
import { countCalls } from './calls.ts';

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
  nouns: { clusterName: 'c', fargateProfileName: 'p' },
  status: 200,
  ...change,
});

const change = (operation: string): CallRecord => call(operation, { mutates: true, applied: true });

describe('counting the calls to AWS', () => {
  it('takes each look at a profile for a poll once its create was taken', () => {
    const counts = countCalls([
      call('DescribeFargateProfile', { status: 404, errorCode: 'ResourceNotFoundException' }),
      change('CreateFargateProfile'),
      call('DescribeFargateProfile'),
      call('DescribeFargateProfile', { nouns: { clusterName: 'c', fargateProfileName: 'another' } }),
      call('DescribeFargateProfile'),
    ]);
    expect(counts).to.include({ total: 5, polls: 2, mutations: 1 });
  });

  it('takes no create that was refused for the beginning of polls', () => {
    const refused = call('CreateFargateProfile', { mutates: true, status: 409, errorCode: 'ResourceInUseException' });
    expect(countCalls([refused, call('DescribeFargateProfile')])).to.include({ polls: 0, failed: 1 });
  });

  it('tells throttled calls from failed ones, and both from the answer that there is none', () => {
    const counts = countCalls([
      call('DescribeFargateProfile', { status: 404, errorCode: 'ResourceNotFoundException' }),
      call('GetRole', { service: 'iam', status: 404, errorCode: 'NoSuchEntity' }),
      call('GetRole', { service: 'iam', status: 400, errorCode: 'Throttling' }),
      call('DescribeFargateProfile', { status: 429, errorCode: 'ThrottlingException' }),
      call('DeleteRole', { service: 'iam', mutates: true, status: 409, errorCode: 'DeleteConflict' }),
    ]);
    expect(counts).to.include({ throttled: 2, failed: 1 });
  });

  it('counts how each operation ended', () => {
    const { status: _none, ...unanswered } = call('GetRole', { service: 'iam' });
    const calls = [call('ListFargateProfiles'), call('ListFargateProfiles'), unanswered];
    expect(countCalls(calls).byOperation).to.deep.equal({
      'eks:ListFargateProfiles': { 200: 2 },
      'iam:GetRole': { unanswered: 1 },
    });
  });
});
