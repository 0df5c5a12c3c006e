import type { CallRecord } from '../../aws/call-log.ts';

/**
 * The read operations with which the manager compares a Ready AWSFargateProfile with AWS. At every second resync, the
 * manager calls only DescribeFargateProfile.
 */
const READS: readonly string[] = ['DescribeFargateProfile', 'GetRole', 'ListAttachedRolePolicies'];
/**
 * The shortest pause between two resyncs of an AWSFargateProfile, as a fraction of `--sync-period`. The manager varies
 * the sync period by up to 10%. The manager then shortens the result by up to 5%, so that resyncs of several objects
 * begin together.
 */
const MIN_PAUSE_FRACTION = 0.85;
/**
 * The largest error of a measured pause, in milliseconds, because the start and the end of the pause are both rounded
 * to whole milliseconds.
 */
const ROUNDING_MS = 2;

/**
 * The AWS calls of one resync, in which the manager compares a Ready AWSFargateProfile with AWS. The resync makes
 * either three calls, listed in the order in which they reached the AWS emulator, or only DescribeFargateProfile.
 */
export type Comparison = readonly CallRecord[];

/** One way to assign AWS calls to resyncs. `span` is the sum of the durations of the resyncs. */
interface Division {
  readonly span: number;
  readonly complete: readonly Comparison[];
}

/**
 * Groups the AWS calls for a Ready AWSFargateProfile by resync. In a resync, the manager either makes three read calls
 * at the same time, which arrive in any order, or calls only DescribeFargateProfile. It never makes two such short
 * resyncs in succession. The pause between two resyncs begins with the last call of the earlier one. An incomplete
 * resync at the start or at the end of `calls` is left out.
 *
 * @param periodMs the flag `--sync-period` of the manager, in milliseconds
 * @throws if the calls cannot be grouped into resyncs with pauses of at least 0.85 sync periods
 */
export function groupCallsByResync(calls: readonly CallRecord[], periodMs: number): readonly Comparison[] {
  const inOrder = calls.toSorted((a, b) => a.seq - b.seq);
  const division = divide(inOrder, periodMs * MIN_PAUSE_FRACTION - ROUNDING_MS);
  if (division !== undefined) return division.complete;
  const shown = inOrder.map(({ operation, at }) => `${operation} at ${at - (inOrder[0]?.at ?? 0)} ms`);
  throw new Error(`the calls are not comparisons at intervals of ${periodMs} ms: ${shown.join(', ')}`);
}

/**
 * Finds the best way to group AWS calls by resync: the one in which the resyncs are shortest in total. Then the long
 * pauses lie between the resyncs, and not inside them.
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
