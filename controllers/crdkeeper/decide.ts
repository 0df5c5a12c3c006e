import type { Ms } from 'controller-runtime/env';
import { type Observation, type Part, foreignParts } from './parts.ts';
import type { Answer } from './webhook-probe.ts';
import { type KeeperRecord, addRestoration } from './record.ts';

/** clusterctl upgrades CAPA by deleting its Service and webhooks, and recreating them some seconds later. */
const UPGRADE = { lasts: 60_000, because: 'Cluster API Provider AWS may be in the middle of an upgrade' };
/** The CRD keeper acts once all probes have given the same answer for this long. */
const DOUBTS: Readonly<Record<Exclude<Answer['kind'], 'unclear'>, { readonly lasts: Ms; readonly because: string }>> = {
  // The API server calls a new webhook only after a moment, so an accepted dry run does not yet prove that the webhook
  // answers.
  served: { lasts: 2_000, because: 'the webhook may be too new for an answer' },
  // This answer is certain: a controller-runtime manager registers all webhooks before it answers a request.
  notServed: { lasts: 0, because: '' },
  notInstalled: UPGRADE,
  noWebhook: UPGRADE,
};

/** All answers since the monotonic time `since` have been the same. */
export interface ProbeState {
  readonly answer: Answer;
  readonly since: Ms;
}

export const nextProbeState = (before: ProbeState | undefined, answer: Answer, now: Ms): ProbeState => ({
  answer,
  since: before?.answer.kind === answer.kind ? before.since : now,
});

export type Decision =
  /** CAPA serves AWSFargateProfiles, so CRD and webhooks stay as they are. */
  | { readonly kind: 'leaveToCapa'; readonly webhook: string }
  /** `parts` are foreign. `after` is the time until the next probe of the webhooks, by default the usual interval. */
  | { readonly kind: 'wait'; readonly parts: readonly Part[]; readonly because: string; readonly after?: Ms }
  /** The CRD keeper writes `record` and then restores `parts`: the CRD or the webhook configurations. */
  | { readonly kind: 'restore'; readonly parts: readonly Part[]; readonly record: KeeperRecord }
  /** Another client has reverted the CRD keeper's changes too often. */
  | { readonly kind: 'stop'; readonly parts: readonly Part[] };

export interface Situation {
  readonly observation: Pick<Observation, 'schema' | 'entries'>;
  readonly probeState: ProbeState;
  readonly record: KeeperRecord;
  /** On the monotonic clock. */
  readonly elapsed: Ms;
  /** On the wall clock. */
  readonly now: Ms;
}

export function decide({ observation, probeState, record, elapsed, now }: Situation): Decision {
  const foreign = foreignParts(observation);
  const { answer, since } = probeState;
  if (answer.kind === 'unclear') return { kind: 'wait', parts: foreign, because: answer.because };
  const { lasts, because } = DOUBTS[answer.kind];
  const missing = lasts - (elapsed - since);
  if (missing > 0) return { kind: 'wait', parts: foreign, because, after: missing };
  if (answer.kind === 'served') return { kind: 'leaveToCapa', webhook: answer.webhook };
  if (record.stopped !== undefined) return { kind: 'stop', parts: foreign };
  // The CRD is restored first: while CAPA's webhooks refuse every write of AWSFargateProfiles, no write can drop the
  // fields that the foreign CRD lacks.
  const parts: readonly Part[] = foreign.includes('crd') ? ['crd'] : foreign;
  const next = addRestoration(record, parts, now);
  return next === undefined ? { kind: 'stop', parts: foreign } : { kind: 'restore', parts, record: next };
}
