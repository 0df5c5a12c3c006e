import { isRight } from 'fp-ts/lib/Either.js';
import type { KubeObject } from 'controller-runtime/client';
import { fieldAt, isRecord } from 'controller-runtime/json';
import { errorMessage, errorStack } from 'controller-runtime/text';
import type { AWSFargateProfileStatus, Condition } from '../../../api/v1beta2/index.ts';
import { FINALIZER, KIND, PLURAL, decodeAWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { formatTrace } from './trace.ts';
import type { SimulatedWorld } from './simulated-world.ts';

/**
 * Lists everything that must not occur in a simulation without disturbances: failed AWS calls, refused writes to the
 * API server, Events of type Warning, logged errors and panics.
 */
export function findProblems(world: SimulatedWorld): readonly string[] {
  return [
    ...findFailedCalls(world),
    ...findRefusedWrites(world),
    ...listWarnings(world),
    ...findLoggedErrors(world),
    ...findPanics(world),
  ];
}

/** Lists the AWS calls that failed or got no answer. A read of a missing resource does not count as a failure. */
function findFailedCalls({ aws }: SimulatedWorld): readonly string[] {
  return aws.admin
    .calls()
    .filter(
      ({ errorCode, mutates, status }) =>
        status === undefined || (errorCode !== undefined && (mutates || !isAbsence(errorCode))),
    )
    .map(
      ({ operation, identifiers, errorCode = 'no answer' }) =>
        `${operation} ${JSON.stringify(identifiers)}: ${errorCode}`,
    );
}

const isAbsence = (errorCode: string): boolean =>
  errorCode === 'ResourceNotFoundException' || errorCode === 'NoSuchEntity';

function findRefusedWrites({ writes }: SimulatedWorld): readonly string[] {
  return writes
    .filter(({ status }) => status === undefined || status >= 300)
    .map(({ method, path, body, status = 'no answer' }) => `${method} ${path} ${body}: ${status}`);
}

export function listWarnings(world: SimulatedWorld): readonly string[] {
  return world
    .objects('events')
    .filter((event) => event['type'] === 'Warning')
    .map((event) => `${String(event['reason'])}: ${String(event['message'])}`);
}

function findLoggedErrors({ managers }: SimulatedWorld): readonly string[] {
  return managers.flatMap(({ name, logger }) =>
    logger.lines
      .filter(({ level }) => level === 'error')
      .map(({ message, error }) => `${name}: ${message}: ${errorMessage(error)}`),
  );
}

export function findPanics({ managers }: SimulatedWorld): readonly string[] {
  return managers.flatMap(({ logger }) =>
    logger.linesWith('Observed a panic').map(({ error }) => errorStack(error) ?? errorMessage(error)),
  );
}

/** Lists the AWS calls and API server writes that a manager made after its process had ended. */
export function findActionsAfterExit({ managers, writes, aws, startedAt }: SimulatedWorld): readonly string[] {
  return managers.flatMap(({ name, accessKeyId, ended }) => {
    const end = ended?.at ?? Infinity;
    const late = formatTrace(
      writes.filter(({ from, at }) => from === name && at > end),
      aws.admin.calls({ accessKeyId }).filter(({ at }) => at > end),
      startedAt,
    );
    return late === '' ? [] : late.split('\n');
  });
}

/** The largest number of characters with which an error message shows one request of a manager. */
const LONGEST_LINE = 300;

/**
 * Lists the objects, the newest requests of the managers and the newest log lines, for the error message of a test that
 * has waited too long.
 */
export function describeWorld(world: SimulatedWorld): string {
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

/** Returns the conditions of an AWSFargateProfile, even if the manager cannot decode the object. */
export function conditionsOf(object: KubeObject | undefined): readonly Condition[] {
  const conditions = fieldAt(object?.['status'], 'conditions');
  return Array.isArray(conditions) ? conditions.filter(isCondition) : [];
}

const isCondition = (value: unknown): value is Condition => isRecord(value) && typeof value['type'] === 'string';

export function statusOf(object: KubeObject | undefined): AWSFargateProfileStatus {
  const decoded = decodeAWSFargateProfile(object);
  return isRight(decoded) ? (decoded.right.status ?? {}) : {};
}
