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
 * Returns how many milliseconds after the first call EKS has accepted a change of a profile in every cluster. EKS changes one
 * profile of a cluster at a time, so until then it has nothing to do in some cluster.
 */
export function spanOfFirstChanges(calls: readonly CallRecord[]): number {
  const firsts = new Map<string | undefined, number>();
  for (const { operation, applied, nouns, at } of calls) {
    const cluster = nouns['clusterName'];
    if (applied && PROFILE_MUTATIONS.has(operation) && !firsts.has(cluster)) firsts.set(cluster, at);
  }
  return Math.max(0, ...firsts.values()) - Math.min(...calls.map(({ at }) => at));
}

const PROFILE_MUTATIONS: ReadonlySet<string> = new Set(['CreateFargateProfile', 'DeleteFargateProfile']);

const isThrottled = ({ errorCode }: CallRecord): boolean =>
  errorCode === 'ThrottlingException' || errorCode === 'Throttling';

/** Whether the call is a read that found nothing, which is a normal answer and no failure. */
const isAnswered = ({ operation, errorCode }: CallRecord): boolean =>
  (operation === 'DescribeFargateProfile' && errorCode === 'ResourceNotFoundException') ||
  (operation === 'GetRole' && errorCode === 'NoSuchEntity');
