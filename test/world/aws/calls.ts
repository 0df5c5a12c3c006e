import type { CallRecord } from '../../aws/call-log.ts';
import type { Emulator } from '../../aws/emulator.ts';
import { AWS_KEY } from '../world.ts';

/** The AWS calls that the manager has made since the test called `callsFromNow`. */
export interface Calls {
  all(): readonly CallRecord[];
  /**
   * Returns each AWS call as a text, e.g. `eks:CreateFargateProfile 200` or `iam:GetRole 404 NoSuchEntity`, in the
   * order of arrival.
   */
  lines(): readonly string[];
  /** The AWS calls of operations that change AWS, e.g. CreateRole, including calls that failed. */
  mutations(): readonly CallRecord[];
  /** The AWS calls whose input contains exactly this name, e.g. of a role, a Fargate profile, or an EKS cluster. */
  about(name: string): readonly CallRecord[];
  /**
   * The failed AWS calls as texts. A read of a Fargate profile, role, or access entry that does not exist is left out,
   * because the manager reads resources before it creates them.
   */
  failures(): readonly string[];
}

/** Returns the AWS calls that the manager makes after this function is called. */
export function callsFromNow({ log }: Emulator): Calls {
  const afterSeq = log.read().at(-1)?.seq ?? 0;
  const all = (): readonly CallRecord[] => log.read({ afterSeq, accessKeyId: AWS_KEY });
  return {
    all,
    lines: () => all().map(lineOf),
    mutations: () => all().filter(({ mutates }) => mutates),
    about: (name) => all().filter(({ identifiers }) => Object.values(identifiers).includes(name)),
    failures: () =>
      all()
        .filter((call) => call.status !== 200 && !isNotFoundOnRead(call))
        .map(lineOf),
  };
}

export const lineOf = ({
  service,
  operation,
  status,
  errorCode,
}: Pick<CallRecord, 'service' | 'operation' | 'status' | 'errorCode'>): string =>
  [`${service}:${operation}`, status ?? 'unanswered', ...(errorCode === undefined ? [] : [errorCode])].join(' ');

/**
 * The AWS calls that create or delete Fargate profiles, as texts in the order of arrival: `Create default_a` for a
 * successful call of CreateFargateProfile, `Delete default_a <error code>` for a failed call of DeleteFargateProfile.
 */
export const profileMutations = (calls: Calls): readonly string[] =>
  calls
    .mutations()
    .filter(({ operation }) => operation.endsWith('FargateProfile'))
    .map(({ operation, identifiers, errorCode }) =>
      [operation.replace('FargateProfile', ''), identifiers['fargateProfileName'], errorCode].filter(Boolean).join(' '),
    );

const isNotFoundOnRead = ({ operation, errorCode, mutates }: CallRecord): boolean =>
  // An EKS cluster may be deleted as soon as its last profile is gone, before the manager has listed its profiles.
  (['DescribeFargateProfile', 'DescribeAccessEntry', 'ListFargateProfiles'].includes(operation) &&
    errorCode === 'ResourceNotFoundException') ||
  // The manager reads a role and its attached policies at the same time, so both reads fail if the role does not exist.
  (!mutates && errorCode === 'NoSuchEntity');

/**
 * Removes each text that equals the previous text. While the manager polls AWS, it repeats one AWS call a varying
 * number of times.
 */
export const withoutRepeats = (lines: readonly string[]): readonly string[] =>
  lines.filter((line, index) => line !== lines[index - 1]);
