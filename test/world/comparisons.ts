import type { CallRecord } from '../aws/call-log.ts';

/** What is asked about an object at rest. */
const QUESTIONS: readonly string[] = ['DescribeFargateProfile', 'GetRole', 'ListAttachedRolePolicies'];
/** The least of the time between two comparisons: the manager's jitter of a resync is a tenth. */
const LEAST_PAUSE = 0.9;
/** Two clocks of whole milliseconds. */
const ROUNDING_MS = 2;

/** The three calls with which an object was compared with AWS, in the order in which they arrived. */
export type Comparison = readonly CallRecord[];

/**
 * The comparisons that the calls about an object at rest consist of. Each asks the three questions side by side, in any order,
 * and each question once; it has all answers before the pause begins after which the next one comes. What was under way when
 * the calls begin and end is left out.
 *
 * @param periodMs the manager's `--sync-period`
 * @throws where the calls are not such, or came sooner than that
 */
export function comparisonsIn(calls: readonly CallRecord[], periodMs: number): readonly Comparison[] {
  const inOrder = calls.toSorted((a, b) => a.seq - b.seq);
  const ways = QUESTIONS.map((_, head) => [inOrder.slice(0, head), ...chunksOf(inOrder.slice(head))]).filter((parts) =>
    parts.every(asksEachOnce),
  );
  const [comparisons] = ways
    .map((parts) => parts.slice(1).filter(({ length }) => length === QUESTIONS.length))
    .toSorted((a, b) => spanOf(a) - spanOf(b));
  if (comparisons === undefined) {
    throw new Error(`not three questions each: ${inOrder.map(({ operation }) => operation).join(', ')}`);
  }
  for (const [index, next] of comparisons.slice(1).entries()) {
    const pause = (next[0]?.at ?? 0) - (comparisons[index]?.at(-1)?.at ?? 0);
    if (pause < periodMs * LEAST_PAUSE - ROUNDING_MS) throw new Error(`again after ${pause} ms, not ${periodMs}`);
  }
  return comparisons;
}

function chunksOf(calls: readonly CallRecord[]): readonly Comparison[] {
  const count = Math.ceil(calls.length / QUESTIONS.length);
  return Array.from({ length: count }, (_, index) =>
    calls.slice(index * QUESTIONS.length, (index + 1) * QUESTIONS.length),
  );
}

function asksEachOnce(calls: Comparison): boolean {
  const operations = new Set(calls.map(({ operation }) => operation));
  return operations.size === calls.length && [...operations].every((operation) => QUESTIONS.includes(operation));
}

/** Where the calls always come in the same order, the right division is the one with the pauses between the comparisons. */
const spanOf = (comparisons: readonly Comparison[]): number =>
  comparisons.reduce((sum, calls) => sum + (calls.at(-1)?.at ?? 0) - (calls[0]?.at ?? 0), 0);
