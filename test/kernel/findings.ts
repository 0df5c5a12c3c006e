import { isRight } from 'fp-ts/lib/Either.js';
import type { AWSFargateProfileStatus, Condition } from '../../api/v1beta2/index.ts';
import { FINALIZER, KIND, PLURAL, decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { fieldAt, isRecord } from '../../api/record.ts';
import { errorMessage, errorStack } from '../../pkg/env/error-text.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { traceOf } from './trace.ts';
import type { KernelWorld } from './world.ts';

/** Failed calls and writes, Warnings, logged errors, panics. */
export function troublesOf(world: KernelWorld): readonly string[] {
  return [
    ...failedCallsOf(world),
    ...refusedWritesOf(world),
    ...warningsOf(world),
    ...errorsOf(world),
    ...panicsOf(world),
  ];
}

/** Calls that AWS did not answer with success, but for reads that found nothing. */
function failedCallsOf({ aws }: KernelWorld): readonly string[] {
  return aws.admin
    .calls()
    .filter(
      ({ errorCode, mutates, status }) =>
        status === undefined || (errorCode !== undefined && (mutates || !isAbsence(errorCode))),
    )
    .map(({ operation, nouns, errorCode = 'no answer' }) => `${operation} ${JSON.stringify(nouns)}: ${errorCode}`);
}

const isAbsence = (errorCode: string): boolean =>
  errorCode === 'ResourceNotFoundException' || errorCode === 'NoSuchEntity';

/** Writes that the API server did not take. */
function refusedWritesOf({ writes }: KernelWorld): readonly string[] {
  return writes
    .filter(({ status }) => status === undefined || status >= 300)
    .map(({ method, path, body, status = 'no answer' }) => `${method} ${path} ${body}: ${status}`);
}

/** `reason: message` of the Events of type Warning. */
export function warningsOf(world: KernelWorld): readonly string[] {
  return world
    .objects('events')
    .filter((event) => event['type'] === 'Warning')
    .map((event) => `${String(event['reason'])}: ${String(event['message'])}`);
}

function errorsOf({ managers }: KernelWorld): readonly string[] {
  return managers.flatMap(({ name, logger }) =>
    logger.lines
      .filter(({ level }) => level === 'error')
      .map(({ message, error }) => `${name}: ${message}: ${errorMessage(error)}`),
  );
}

export function panicsOf({ managers }: KernelWorld): readonly string[] {
  return managers.flatMap(({ logger }) =>
    logger.said('Observed a panic').map(({ error }) => errorStack(error) ?? errorMessage(error)),
  );
}

/** What came from managers that had ended. */
export function afterlifeOf({ managers, writes, aws, begin }: KernelWorld): readonly string[] {
  return managers.flatMap(({ name, accessKeyId, ended }) => {
    const end = ended?.at ?? Infinity;
    const late = traceOf(
      writes.filter(({ from, at }) => from === name && at > end),
      aws.admin.calls({ accessKeyId }).filter(({ at }) => at > end),
      begin,
    );
    return late === '' ? [] : late.split('\n');
  });
}

/** Characters of a line of the trace in an error. */
const LONGEST_LINE = 300;

/** For the error of a test that waits in vain: the objects, and what was done and said last. */
export function describeWorld(world: KernelWorld): string {
  const objects = world.objects(PLURAL).map((object) => {
    const conditions = conditionsOf(object).map(
      ({ type, status, reason = '', message = '' }) => `    ${type}=${status} ${reason} ${message}`,
    );
    const finalizer = object.metadata.finalizers?.includes(FINALIZER) === true ? 'has' : 'has not';
    return [`  ${KIND} ${object.metadata.name}, which ${finalizer} our finalizer`, ...conditions].join('\n');
  });
  const done = world
    .trace()
    .split('\n')
    .filter((line) => !line.includes('/leases'))
    .map((line) => line.slice(0, LONGEST_LINE));
  const said = world.managers.flatMap(({ name, logger }) =>
    logger.lines
      .filter(({ level }) => level !== 'debug')
      .slice(-10)
      .map(
        ({ level, message, error, keys }) =>
          `  ${name} ${level} ${message} ${error === undefined ? '' : errorMessage(error)} ${JSON.stringify(keys)}`,
      ),
  );
  return [...objects, 'done last:', ...done.slice(-15), 'logged last:', ...said].join('\n');
}

/** Of an object that cannot be read, too. */
export function conditionsOf(object: KubeObject | undefined): readonly Condition[] {
  const conditions = fieldAt(object?.['status'], 'conditions');
  return Array.isArray(conditions) ? conditions.filter(isCondition) : [];
}

const isCondition = (value: unknown): value is Condition => isRecord(value) && typeof value['type'] === 'string';

export function statusOf(object: KubeObject | undefined): AWSFargateProfileStatus {
  const decoded = decodeAWSFargateProfile(object);
  return isRight(decoded) ? (decoded.right.status ?? {}) : {};
}
