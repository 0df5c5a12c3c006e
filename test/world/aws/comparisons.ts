import type { CallRecord } from '../../aws/call-log.ts';

/**
 * The operations of the three AWS calls with which the manager, in each resync, compares a Ready AWSFargateProfile with
 * AWS.
 */
const READS: readonly string[] = ['DescribeFargateProfile', 'GetRole', 'ListAttachedRolePolicies'];
/**
 * The shortest allowed pause between two resyncs of an AWSFargateProfile, as a fraction of `--sync-period`: the manager
 * varies the sync period by up to 10%.
 */
const MIN_PAUSE_FRACTION = 0.9;
/**
 * The largest rounding error of a pause, in milliseconds: the times of its start and of its end are both rounded to
 * whole milliseconds.
 */
const ROUNDING_MS = 2;

/**
 * The three AWS calls with which the manager compares a Ready AWSFargateProfile with AWS once, in the order in which
 * they arrived.
 */
export type Comparison = readonly CallRecord[];

/**
 * Divides the AWS calls for a Ready AWSFargateProfile into comparisons. In one comparison, the manager makes three read
 * calls at the same time, which arrive in any order. The pause between two comparisons begins with the last call of the
 * earlier comparison. An incomplete comparison at the start or at the end of `calls` is left out.
 *
 * @param periodMs the flag `--sync-period` of the manager, in milliseconds
 * @throws if the calls cannot be divided into comparisons, or if the pause between two comparisons is too short
 */
export function comparisonsIn(calls: readonly CallRecord[], periodMs: number): readonly Comparison[] {
  const inOrder = calls.toSorted((a, b) => a.seq - b.seq);
  const divisions = READS.map((_, head) => [inOrder.slice(0, head), ...chunksOf(inOrder.slice(head))]).filter((parts) =>
    parts.every(hasDistinctReads),
  );
  const [comparisons] = divisions
    .map((parts) => parts.slice(1).filter(({ length }) => length === READS.length))
    .toSorted((a, b) => spanOf(a) - spanOf(b));
  if (comparisons === undefined) {
    throw new Error(
      `the calls are not comparisons of three reads each: ${inOrder.map(({ operation }) => operation).join(', ')}`,
    );
  }
  for (const [index, next] of comparisons.slice(1).entries()) {
    const pause = (next[0]?.at ?? 0) - (comparisons[index]?.at(-1)?.at ?? 0);
    if (pause < periodMs * MIN_PAUSE_FRACTION - ROUNDING_MS) {
      throw new Error(`the pause was ${pause} ms, not ${periodMs} ms`);
    }
  }
  return comparisons;
}

function chunksOf(calls: readonly CallRecord[]): readonly Comparison[] {
  const count = Math.ceil(calls.length / READS.length);
  return Array.from({ length: count }, (_, index) => calls.slice(index * READS.length, (index + 1) * READS.length));
}

function hasDistinctReads(calls: Comparison): boolean {
  const operations = new Set(calls.map(({ operation }) => operation));
  return operations.size === calls.length && [...operations].every((operation) => READS.includes(operation));
}

/**
 * The sum of the durations of the comparisons. Of all ways to divide the AWS calls into comparisons, the right one has
 * the smallest sum: the pauses are then between the comparisons, not inside them.
 */
const spanOf = (comparisons: readonly Comparison[]): number =>
  comparisons.reduce((sum, calls) => sum + (calls.at(-1)?.at ?? 0) - (calls[0]?.at ?? 0), 0);
