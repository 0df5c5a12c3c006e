import type { Ms } from '../../pkg/env/clock.ts';
import { type Observation, type Part, foreignParts } from './observe.ts';
import type { Answer } from './webhook-probe.ts';
import { type KeeperRecord, addRestoration } from './record.ts';

const SECOND: Ms = 1_000;
/**
 * How long all tests must have given the same answer before the CRD keeper acts on this answer. A test finds out,
 * usually with the dry run of a write, whether Cluster API Provider AWS serves AWSFargateProfiles.
 *
 * - `served`: an API server begins to call a new webhook only after a moment. So an accepted dry run does not prove yet
 *   that the webhook has accepted it.
 * - `notInstalled` and `noWebhook`: an upgrade by clusterctl deletes Service and webhooks of Cluster API Provider AWS,
 *   and creates them again some seconds later.
 * - `notServed`: no time, because a manager of controller-runtime registers all its webhooks before it answers the
 *   first request.
 */
const MIN_ANSWER_DURATION: Readonly<Record<Exclude<Answer['kind'], 'unclear'>, Ms>> = {
  served: 2 * SECOND,
  notServed: 0,
  notInstalled: 60 * SECOND,
  noWebhook: 60 * SECOND,
};

/** The last answer, and the monotonic time since which all answers have been the same. */
export interface ProbeState {
  readonly answer: Answer;
  readonly since: Ms;
}

export const nextProbeState = (before: ProbeState | undefined, answer: Answer, now: Ms): ProbeState =>
  before?.answer.kind === answer.kind ? { answer, since: before.since } : { answer, since: now };

/** The next action of the CRD keeper. */
export type Decision =
  /** The CRD and the webhooks are as this provider needs them. */
  | { readonly kind: 'rest' }
  /** CAPA serves AWSFargateProfiles, so CRD and webhooks stay as they are. */
  | { readonly kind: 'leaveToCapa'; readonly webhook: string }
  /**
   * `parts` have been replaced by another client. `after` is the time until the next test of the webhooks; undefined
   * for the usual interval.
   */
  | { readonly kind: 'wait'; readonly parts: readonly Part[]; readonly because: string; readonly after?: Ms }
  /** The CRD keeper writes `record` and then restores `parts`: the CRD or the webhook configurations. */
  | { readonly kind: 'restore'; readonly parts: readonly Part[]; readonly record: KeeperRecord }
  /** Another client has undone the changes of the CRD keeper too often, so the keeper stops. */
  | { readonly kind: 'stop'; readonly parts: readonly Part[] };

export interface Situation {
  readonly observation: Pick<Observation, 'schema' | 'entries'>;
  readonly probeState: ProbeState;
  readonly record: KeeperRecord;
  /** Monotonic. */
  readonly elapsed: Ms;
  /** On the wall clock. */
  readonly now: Ms;
}

export function decide({ observation, probeState, record, elapsed, now }: Situation): Decision {
  const foreign = foreignParts(observation);
  if (foreign.length === 0) return { kind: 'rest' };
  const { answer, since } = probeState;
  if (answer.kind === 'unclear') return { kind: 'wait', parts: foreign, because: answer.because };
  const missing = MIN_ANSWER_DURATION[answer.kind] - (elapsed - since);
  if (missing > 0) {
    return { kind: 'wait', parts: foreign, because: REASONS_TO_WAIT[answer.kind], after: missing };
  }
  if (answer.kind === 'served') return { kind: 'leaveToCapa', webhook: answer.webhook };
  if (record.stopped !== undefined) return { kind: 'stop', parts: foreign };
  const parts = nextParts(foreign);
  const next = addRestoration(record, parts, now);
  return next === undefined ? { kind: 'stop', parts: foreign } : { kind: 'restore', parts, record: next };
}

const REASONS_TO_WAIT: Readonly<Record<keyof typeof MIN_ANSWER_DURATION, string>> = {
  served: 'the webhook may be too new for an answer',
  notServed: '',
  notInstalled: 'Cluster API Provider AWS may be in the middle of an upgrade',
  noWebhook: 'Cluster API Provider AWS may be in the middle of an upgrade',
};

/**
 * The CRD comes before CAPA's webhooks: while these refuse every write of AWSFargateProfiles, no write drops the fields
 * that the installed CRD lacks.
 */
const nextParts = (foreign: readonly Part[]): readonly Part[] => (foreign.includes('crd') ? ['crd'] : foreign);
