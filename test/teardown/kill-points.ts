import type { CallRecord } from '../aws/call-log.ts';

/**
 * The moment at which the test kills the manager during a teardown. The AWS calls are counted from the deletion of the
 * Cluster.
 * - `lost` is `answer` and `of` is `call`: the n-th AWS call took effect, and the manager never gets the answer;
 * - `lost` is `answer` and `of` is `change`: the same for the n-th AWS call that changes AWS;
 * - `lost` is `request` and `of` is `change`: the n-th AWS call that changes AWS never reaches AWS.
 */
export interface KillPoint {
  readonly lost: 'answer' | 'request';
  readonly of: 'call' | 'change';
  /** The number, counted from 1, of the AWS call at which the test kills the manager. With Infinity, it never does. */
  readonly nth: number;
}

export const killPointText = ({ lost, of, nth }: KillPoint): string =>
  `${of} ${nth}, ${lost === 'answer' ? 'answer' : 'request'} lost`;

/**
 * Returns the kill points (the moments at which a test kills the manager): one after each AWS call, and one before each
 * AWS call that changes AWS. These kill points cover all states in which a killed manager can leave AWS.
 */
export function allKillPoints(calls: readonly Pick<CallRecord, 'mutates'>[]): readonly KillPoint[] {
  return [
    ...calls.map((_, index): KillPoint => ({ lost: 'answer', of: 'call', nth: index + 1 })),
    ...changesIn(calls).map((nth): KillPoint => ({ lost: 'request', of: 'change', nth })),
  ];
}

const changesIn = (calls: readonly Pick<CallRecord, 'mutates'>[]): readonly number[] =>
  calls.filter(({ mutates }) => mutates).map((_, index) => index + 1);
