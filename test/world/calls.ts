import type { CallRecord } from '../aws/call-log.ts';
import type { Emulator } from '../aws/emulator.ts';
import { Gate } from '../support/gate.ts';
import { AWS_KEY } from './world.ts';

/** What the manager asked of AWS from some moment on. */
export interface Calls {
  all(): readonly CallRecord[];
  /** `eks:CreateFargateProfile 200`, `iam:GetRole 404 NoSuchEntity`, in the order in which they arrived. */
  lines(): readonly string[];
  /** Those that would change something, whatever was answered. */
  mutations(): readonly CallRecord[];
  /** Those that name the role, the profile or the cluster. */
  about(name: string): readonly CallRecord[];
  /** Those that were refused, but for reads that ask whether something is there. */
  failures(): readonly string[];
}

/** @param noun all, or those alone of whose names and ARNs one has it in it: the name of a cluster that a test has to itself */
export function callsFromNow({ log }: Emulator, noun = ''): Calls {
  const afterSeq = log.read().at(-1)?.seq ?? 0;
  const concerns = ({ nouns }: CallRecord): boolean =>
    noun === '' || Object.values(nouns).some((each) => each.includes(noun));
  const all = (): readonly CallRecord[] => log.read({ afterSeq, accessKeyId: AWS_KEY }).filter(concerns);
  return {
    all,
    lines: () => all().map(lineOf),
    mutations: () => all().filter(({ mutates }) => mutates),
    about: (name) => all().filter(({ nouns }) => Object.values(nouns).includes(name)),
    failures: () =>
      all()
        .filter((call) => call.status !== 200 && !isQuestion(call))
        .map(lineOf),
  };
}

/**
 * Has the calls of an operation wait at a gate until that is open: `before` AWS acts, or `after` that, with the answer.
 * @param nouns what their input has to say, e.g. `{ clusterName: 'a' }`
 */
export function holdCall(
  aws: Emulator,
  phase: 'before' | 'after',
  operation: string,
  nouns: Readonly<Record<string, string>>,
): Gate {
  const gate = new Gate(`${operation} ${Object.values(nouns).join(' ')}`);
  const isWanted = (call: CallRecord): boolean =>
    call.operation === operation && Object.entries(nouns).every(([key, value]) => call.nouns[key] === value);
  aws.onCall((call, now) => (now === phase && isWanted(call) ? gate.pass() : undefined));
  return gate;
}

export const lineOf = ({
  service,
  operation,
  status,
  errorCode,
}: Pick<CallRecord, 'service' | 'operation' | 'status' | 'errorCode'>): string =>
  [`${service}:${operation}`, status ?? 'unanswered', ...(errorCode === undefined ? [] : [errorCode])].join(' ');

const isQuestion = ({ operation, errorCode, mutates }: CallRecord): boolean =>
  (operation === 'DescribeFargateProfile' && errorCode === 'ResourceNotFoundException') ||
  // What a role has is asked beside whether it is there, where it was when last seen.
  (!mutates && errorCode === 'NoSuchEntity');

/** The same line many times in a row is a poll: once is enough. */
export const withoutRepeats = (lines: readonly string[]): readonly string[] =>
  lines.filter((line, index) => line !== lines[index - 1]);
