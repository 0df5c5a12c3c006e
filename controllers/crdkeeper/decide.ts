import type { Ms } from '../../pkg/env/clock.ts';
import type { Observation, Part } from './observe.ts';
import { foreignParts } from './observe.ts';
import type { Answer } from './probe.ts';
import type { KeeperRecord } from './record.ts';
import { addRestoration } from './record.ts';

const SECOND: Ms = 1_000;
/**
 * How long an answer must last before it counts.
 *
 * - `served`: an API server asks a new webhook only after a moment, so one accepted dry run proves nothing yet.
 * - `notInstalled` and `noWebhook`: an upgrade by clusterctl deletes Service and webhooks of Cluster API Provider AWS,
 *   and creates them again some seconds later.
 * - `notServed`: no time, because a manager of controller-runtime registers all its webhooks before it answers the
 *   first request.
 */
const LASTING: Readonly<Record<Exclude<Answer['kind'], 'unclear'>, Ms>> = {
  served: 2 * SECOND,
  notServed: 0,
  notInstalled: 60 * SECOND,
  noWebhook: 60 * SECOND,
};

/** The last answer, and the time (monotonic) since which all answers have been the same. */
export interface Hearing {
  readonly answer: Answer;
  readonly since: Ms;
}

export const hear = (before: Hearing | undefined, answer: Answer, now: Ms): Hearing =>
  before?.answer.kind === answer.kind ? { answer, since: before.since } : { answer, since: now };

/** What the keeper of the CRD does now. */
export type Decision =
  /** Everything is as this provider needs it. */
  | { readonly kind: 'rest' }
  /** Cluster API Provider AWS serves AWSFargateProfiles: everything stays as it is. */
  | { readonly kind: 'yield'; readonly webhook: string }
  /** `after`: when to ask again; undefined: rarely. */
  | { readonly kind: 'wait'; readonly because: string; readonly after?: Ms }
  /** The keeper of the CRD must write `record` and then restore `parts`. */
  | { readonly kind: 'restore'; readonly parts: readonly Part[]; readonly record: KeeperRecord }
  /** Another client has undone the changes of the keeper of the CRD too often. */
  | { readonly kind: 'stop'; readonly parts: readonly Part[] };

export interface Situation {
  readonly observation: Pick<Observation, 'schema' | 'entries'>;
  readonly hearing: Hearing;
  readonly record: KeeperRecord;
  /** The monotonic time. */
  readonly elapsed: Ms;
  /** The wall clock time. */
  readonly now: Ms;
}

/**
 * Decides what the keeper of the CRD does. The decision depends on the state in the API server, on the answer of
 * Cluster API Provider AWS, and on the record of the keeper's earlier changes.
 */
export function decide({ observation, hearing, record, elapsed, now }: Situation): Decision {
  const foreign = foreignParts(observation);
  if (foreign.length === 0) return { kind: 'rest' };
  const { answer, since } = hearing;
  if (answer.kind === 'unclear') return { kind: 'wait', because: answer.because };
  const missing = LASTING[answer.kind] - (elapsed - since);
  if (missing > 0) return { kind: 'wait', because: REASONS_TO_WAIT[answer.kind], after: missing };
  if (answer.kind === 'served') return { kind: 'yield', webhook: answer.webhook };
  if (record.stopped !== undefined) return { kind: 'stop', parts: foreign };
  const parts = nextParts(foreign);
  const next = addRestoration(record, parts, now);
  return next === undefined ? { kind: 'stop', parts: foreign } : { kind: 'restore', parts, record: next };
}

const REASONS_TO_WAIT: Readonly<Record<keyof typeof LASTING, string>> = {
  served: 'the webhook may be too new for an answer',
  notServed: '',
  notInstalled: 'Cluster API Provider AWS may be in the middle of an upgrade',
  noWebhook: 'Cluster API Provider AWS may be in the middle of an upgrade',
};

/**
 * The CRD comes first: while the webhooks refuse every write of AWSFargateProfiles, no write drops the fields that the
 * foreign CRD lacks.
 */
const nextParts = (foreign: readonly Part[]): readonly Part[] => (foreign.includes('crd') ? ['crd'] : foreign);
