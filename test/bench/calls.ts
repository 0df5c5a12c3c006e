import type { CallRecord } from '../aws/call-log.ts';

/** What was asked of AWS in some span of time. */
export interface CallCounts {
  readonly total: number;
  /** Looks at a profile after its create or its delete was sent: has EKS finished? */
  readonly polls: number;
  readonly mutations: number;
  readonly throttled: number;
  /** Refused or unanswered, but for throttled ones and for reads that ask whether something is there. */
  readonly failed: number;
  /** How often each operation ended in each way: `eks:DescribeFargateProfile` → `200` → 31. */
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

const PROFILE_MUTATIONS: ReadonlySet<string> = new Set(['CreateFargateProfile', 'DeleteFargateProfile']);

const isThrottled = ({ errorCode }: CallRecord): boolean =>
  errorCode === 'ThrottlingException' || errorCode === 'Throttling';

/** "There is none" is an answer to the question whether there is one. */
const isAnswered = ({ operation, errorCode }: CallRecord): boolean =>
  (operation === 'DescribeFargateProfile' && errorCode === 'ResourceNotFoundException') ||
  (operation === 'GetRole' && errorCode === 'NoSuchEntity');
