import type { CallRecord } from '../../test/aws/call-log.ts';

/** Counts of the AWS calls in one phase of a measurement, e.g. in the creation of all profiles. */
export interface CallCounts {
  readonly total: number;
  /**
   * The number of DescribeFargateProfile calls that ask whether EKS has finished an accepted creation or deletion of a
   * profile.
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
    const profile = `${call.identifiers['clusterName']}/${call.identifiers['fargateProfileName']}`;
    if (call.applied && PROFILE_MUTATIONS.has(call.operation)) changing.add(profile);
    else if (call.operation === 'DescribeFargateProfile' && changing.has(profile)) polls += 1;
  }
  return {
    total: calls.length,
    polls,
    mutations: calls.filter(({ mutates }) => mutates).length,
    throttled: calls.filter(isThrottled).length,
    failed: calls.filter((call) => call.status !== 200 && !isThrottled(call) && !isReadOfMissingResource(call)).length,
    byOperation,
  };
}

/**
 * Returns the milliseconds from the first AWS call until every EKS cluster has begun to create or delete a profile. EKS
 * clusters work in parallel, so a cluster that begins late loses time.
 */
export function spanOfFirstChanges(calls: readonly CallRecord[]): number {
  const firsts = new Map<string | undefined, number>();
  for (const { operation, applied, identifiers, at } of calls) {
    const cluster = identifiers['clusterName'];
    if (applied && PROFILE_MUTATIONS.has(operation) && !firsts.has(cluster)) firsts.set(cluster, at);
  }
  return Math.max(0, ...firsts.values()) - Math.min(...calls.map(({ at }) => at));
}

/**
 * Returns the 99th percentile of the lateness of the AWS emulator in milliseconds. The lateness of a call is the time
 * from its arrival until its execution, without the delay that the emulator adds on purpose.
 */
export function latenessOf(calls: readonly CallRecord[], delayMs: number): number {
  const late = calls
    .flatMap(({ at, actedAt }) => (actedAt === undefined ? [] : [Math.max(0, actedAt - at - delayMs)]))
    .toSorted((a, b) => a - b);
  return late[Math.ceil(0.99 * late.length) - 1] ?? 0;
}

/**
 * Returns how often the manager compared a profile with AWS, which takes one DescribeFargateProfile call. The result is
 * right only for a time without creations and deletions, because the manager also polls their results with this call.
 */
export const countComparisons = ({ byOperation }: CallCounts): number =>
  Object.values(byOperation['eks:DescribeFargateProfile'] ?? {}).reduce((sum, count) => sum + count, 0);

const PROFILE_MUTATIONS: ReadonlySet<string> = new Set(['CreateFargateProfile', 'DeleteFargateProfile']);

const NAMED_READS: ReadonlySet<string> = new Set(['DescribeFargateProfile', 'DescribeAccessEntry']);

const isThrottled = ({ errorCode }: CallRecord): boolean =>
  errorCode === 'ThrottlingException' || errorCode === 'Throttling';

/** Reports whether the call is a read of a missing AWS resource, which counts as a success. */
const isReadOfMissingResource = ({ operation, errorCode }: CallRecord): boolean =>
  (NAMED_READS.has(operation) && errorCode === 'ResourceNotFoundException') ||
  (operation === 'GetRole' && errorCode === 'NoSuchEntity');
