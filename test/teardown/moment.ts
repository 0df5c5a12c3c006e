import type { CallRecord } from '../aws/call-log.ts';

/**
 * When the manager is killed, counted from the deletion of the Cluster on:
 * - `answer`, `call`: the n-th call to AWS has had its effect, and the manager never hears of it;
 * - `answer`, `change`: the same, of the n-th call that changes something;
 * - `request`, `change`: the n-th change never gets to AWS, though all that comes before it has been done.
 */
export interface Moment {
  readonly lost: 'answer' | 'request';
  readonly of: 'call' | 'change';
  /** From 1; Infinity: never. */
  readonly nth: number;
}

export const momentText = ({ lost, of, nth }: Moment): string =>
  `${of} ${nth}, ${lost === 'answer' ? 'answer' : 'request'} lost`;

/** One after each call, and one before each change: all states in which a manager can leave AWS. */
export function allMoments(calls: readonly Pick<CallRecord, 'mutates'>[]): readonly Moment[] {
  return [
    ...calls.map((_, index): Moment => ({ lost: 'answer', of: 'call', nth: index + 1 })),
    ...changesIn(calls).map((nth): Moment => ({ lost: 'request', of: 'change', nth })),
  ];
}

/** One before and one after each change, and some of the calls that only read, spread evenly. */
export function someMoments(calls: readonly Pick<CallRecord, 'mutates'>[], reads: number): readonly Moment[] {
  const indices = Array.from({ length: reads }, (_, index) => Math.ceil(((index + 0.5) * calls.length) / reads));
  return [
    ...changesIn(calls).flatMap((nth): readonly Moment[] => [
      { lost: 'request', of: 'change', nth },
      { lost: 'answer', of: 'change', nth },
    ]),
    ...indices.map((nth): Moment => ({ lost: 'answer', of: 'call', nth })),
  ];
}

const changesIn = (calls: readonly Pick<CallRecord, 'mutates'>[]): readonly number[] =>
  calls.filter(({ mutates }) => mutates).map((_, index) => index + 1);
