import { fieldAt, isRecord } from '../../../api/record.ts';
import { type Condition, type DecodeProblem, describeProblems } from '../../../api/v1beta2/index.ts';
import type { Clock, Ms } from '../../../pkg/env/clock.ts';
import { toPrintableLine } from '../../../pkg/env/printable.ts';
import { formatTimestamp } from '../../../pkg/env/timestamp.ts';
import { isInvalid } from '../../../pkg/kube/errors.ts';
import type { KubeObject } from '../../../pkg/kube/types.ts';
import type { ReconcileContext, Requeue } from '../../../pkg/runtime/reconcile.ts';
import { conditionOf, mergeConditions } from './conditions/condition-list.ts';
import type { EventSpec } from './events.ts';
import type { ProfileWriter } from '../../shared/profile-writer.ts';
import { CONFLICT } from '../../shared/requeue.ts';

export interface UndecodableOptions {
  readonly clock: Clock;
  readonly profileWriter: Pick<ProfileWriter, 'patchRawStatus'>;
  readonly recordEvent: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
}

/** The interval can be long: only a change of the object helps, and the watch reports that at once. */
const REMINDER: Ms = 10 * 60_000;

/**
 * Of status only the conditions are decoded, because other fields may be wrong too. If the API server rejects every
 * write of the object, the user sees only the event.
 */
export async function reportUndecodable(
  { clock, profileWriter, recordEvent }: UndecodableOptions,
  raw: KubeObject,
  problems: readonly DecodeProblem[],
  { logger, signal }: ReconcileContext,
): Promise<Requeue> {
  const detail = toPrintableLine(
    `The controller cannot read this AWSFargateProfile: ${describeProblems(problems)}. Correct or remove these fields. Until then the controller does nothing for this object.`,
  );
  const observedGeneration = raw.metadata.generation ?? 0;
  const state = (type: string, status: Condition['status'], reason: string, message = '') => ({
    type,
    status,
    reason,
    message,
    observedGeneration,
  });
  const before = readableConditions(raw);
  const conditions = mergeConditions(
    before,
    [
      state('Ready', 'False', 'InvalidObject', detail),
      state('Reconciling', 'False', 'Stalled'),
      state('Stalled', 'True', 'InvalidObject', detail),
    ],
    formatTimestamp(clock.now()),
  );
  logger.warn('Object cannot be read', { problems: describeProblems(problems) });
  // If the conditions cannot be written, each pass records the event again.
  if (conditionOf(before, 'Ready')?.message !== detail)
    recordEvent(raw, { type: 'Warning', reason: 'InvalidObject', message: detail });
  try {
    const written = await profileWriter.patchRawStatus(raw, { observedGeneration, conditions }, signal);
    if (!written) return CONFLICT;
  } catch (error) {
    if (!isInvalid(error)) throw error;
    logger.warn('Object cannot be written either', { refusal: error.message });
  }
  return { kind: 'after', delay: REMINDER, reason: 'InvalidObject' };
}

function readableConditions({ status }: KubeObject): readonly Condition[] {
  const conditions = fieldAt(status, 'conditions');
  return Array.isArray(conditions) ? conditions.filter(isCondition) : [];
}

const isCondition = (value: unknown): value is Condition =>
  isRecord(value) &&
  typeof value['type'] === 'string' &&
  (value['status'] === 'True' || value['status'] === 'False' || value['status'] === 'Unknown') &&
  typeof value['lastTransitionTime'] === 'string';
