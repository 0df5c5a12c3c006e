import type { CallRecord } from '../aws/call-log.ts';

/** Counts of the AWS calls in one part of the benchmark. */
export interface CallCounts {
  readonly total: number;
  /**
   * The number of DescribeFargateProfile calls that ask whether EKS has finished an accepted creation or deletion of
   * the profile.
   */
  readonly polls: number;
  readonly mutations: number;
  readonly throttled: number;
  /**
   * The number of calls that AWS refused or did not answer. Throttled calls and reads that found nothing do not count.
   */
  readonly failed: number;
  /** The number of calls by operation and answer, e.g. `eks:DescribeFargateProfile` → `200` → 31. */
  readonly byOperation: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export function countCalls(calls: readonly CallRecord[]): CallCounts {
  const changing = new Set<string>();
  const byOperation: Record<string, Record<string, number>> = {};
  let polls = 0;
  for (const call of calls) {
    const operation = `${call.service}:${call.operation}`;
    const outcome = call.errorCode ?? String(call.status ?? 'unanswered');
    const outcomes = (byOperation[operation] ??= {});
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    const profile = `${call.nouns['clusterName']}/${call.nouns['fargateProfileName']}`;
    if (call.applied && PROFILE_MUTATIONS.has(call.operation)) changing.add(profile);
    else if (call.operation === 'DescribeFargateProfile' && changing.has(profile)) polls += 1;
  }
  return {
    total: calls.length,
    polls,
    mutations: calls.filter(({ mutates }) => mutates).length,
    throttled: calls.filter(isThrottled).length,
    failed: calls.filter((call) => call.status !== 200 && !isThrottled(call) && !isAnswered(call)).length,
    byOperation,
  };
}

/**
 * Returns the milliseconds from the first call until EKS has accepted at least one change of a profile in each
 * cluster. Before that time, at least one cluster was idle.
 */
export function spanOfFirstChanges(calls: readonly CallRecord[]): number {
  const firsts = new Map<string | undefined, number>();
  for (const { operation, applied, nouns, at } of calls) {
    const cluster = nouns['clusterName'];
    if (applied && PROFILE_MUTATIONS.has(operation) && !firsts.has(cluster)) firsts.set(cluster, at);
  }
  return Math.max(0, ...firsts.values()) - Math.min(...calls.map(({ at }) => at));
}

/**
 * Returns by how many milliseconds the AWS emulator executed 99 of 100 calls late at most: the time from the arrival of
 * a call until its execution, without the delay that the emulator is told to add.
 */
export function latenessOf(calls: readonly CallRecord[], delayMs: number): number {
  const late = calls
    .flatMap(({ at, actedAt }) => (actedAt === undefined ? [] : [Math.max(0, actedAt - at - delayMs)]))
    .toSorted((a, b) => a - b);
  return late[Math.ceil(0.99 * late.length) - 1] ?? 0;
}

/** Returns the number of comparisons of a profile with AWS: each one describes the profile once. */
export const comparisonsIn = ({ byOperation }: CallCounts): number =>
  Object.values(byOperation['eks:DescribeFargateProfile'] ?? {}).reduce((sum, count) => sum + count, 0);

const PROFILE_MUTATIONS: ReadonlySet<string> = new Set(['CreateFargateProfile', 'DeleteFargateProfile']);

const NAMED_READS: ReadonlySet<string> = new Set(['DescribeFargateProfile', 'DescribeAccessEntry']);

const isThrottled = ({ errorCode }: CallRecord): boolean =>
  errorCode === 'ThrottlingException' || errorCode === 'Throttling';

/** Whether the call is a read that found nothing, which is a normal answer and no failure. */
const isAnswered = ({ operation, errorCode }: CallRecord): boolean =>
  (NAMED_READS.has(operation) && errorCode === 'ResourceNotFoundException') ||
  (operation === 'GetRole' && errorCode === 'NoSuchEntity');
