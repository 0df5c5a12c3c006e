import type { CallRecord } from '../../aws/call-log.ts';

/**
 * The operations of the AWS calls with which the manager compares a Ready AWSFargateProfile with AWS. Every second
 * resync makes the first of these calls alone.
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
 * The AWS calls with which the manager compares a Ready AWSFargateProfile with AWS once, in the order in which they
 * arrived: three calls, or the read of the Fargate profile alone.
 */
export type Comparison = readonly CallRecord[];

/** A way to divide AWS calls into comparisons. `span` is the sum of the durations of the comparisons. */
interface Division {
  readonly span: number;
  readonly complete: readonly Comparison[];
}

/**
 * Divides the AWS calls for a Ready AWSFargateProfile into comparisons. In one comparison, the manager makes three read
 * calls at the same time, which arrive in any order, or reads the Fargate profile alone. The latter never happens twice
 * in succession. The pause between two comparisons begins with the last call of the earlier comparison. An incomplete
 * comparison at the start or at the end of `calls` is left out.
 *
 * @param periodMs the flag `--sync-period` of the manager, in milliseconds
 * @throws if the calls cannot be divided into comparisons with such pauses
 */
export function comparisonsIn(calls: readonly CallRecord[], periodMs: number): readonly Comparison[] {
  const inOrder = calls.toSorted((a, b) => a.seq - b.seq);
  const division = divide(inOrder, periodMs * MIN_PAUSE_FRACTION - ROUNDING_MS);
  if (division !== undefined) return division.complete;
  const shown = inOrder.map(({ operation, at }) => `${operation} at ${at - (inOrder[0]?.at ?? 0)} ms`);
  throw new Error(`the calls are not comparisons at intervals of ${periodMs} ms: ${shown.join(', ')}`);
}

/**
 * Of all ways to divide the AWS calls into comparisons, the right one has the smallest span: the pauses are then between
 * the comparisons, not inside them.
 */
function divide(calls: readonly CallRecord[], minPause: number, from = 0, isAfterShort = false): Division | undefined {
  if (from === calls.length) return { span: 0, complete: [] };
  const divisions = [1, 2, 3].flatMap((size): readonly Division[] => {
    const end = from + size;
    const part = calls.slice(from, end);
    const isShort = size === 1 && part[0]?.operation === READS[0] && !isAfterShort;
    const isComplete = isShort || size === READS.length;
    const isAtEdge = from === 0 || end === calls.length;
    const [last, next] = [calls[end - 1], calls[end]];
    const isPaused = next === undefined || next.at - (last?.at ?? 0) >= minPause;
    if (last === undefined || !hasDistinctReads(part) || !isPaused || !(isComplete || isAtEdge)) return [];
    const rest = divide(calls, minPause, end, isShort);
    if (rest === undefined) return [];
    const span = last.at - (part[0]?.at ?? 0) + rest.span;
    return [{ span, complete: isComplete ? [part, ...rest.complete] : rest.complete }];
  });
  return divisions.toSorted((a, b) => a.span - b.span)[0];
}

function hasDistinctReads(calls: Comparison): boolean {
  const operations = new Set(calls.map(({ operation }) => operation));
  return operations.size === calls.length && [...operations].every((operation) => READS.includes(operation));
}
