import { fieldAt, isRecord } from '../../api/record.ts';
import type { Condition, DecodeProblem } from '../../api/v1beta2/index.ts';
import { describeProblem } from '../../api/v1beta2/index.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import { formatTimestamp } from '../../pkg/env/timestamp.ts';
import { isInvalid } from '../../pkg/kube/errors.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { ReconcileContext, Requeue } from '../../pkg/runtime/types.ts';
import { conditionOf, mergeConditions } from './conditions.ts';
import type { EventSpec } from './events.ts';
import type { ProfileObjects } from './objects.ts';

export interface UndecodableOptions {
  readonly clock: Clock;
  readonly objects: ProfileObjects;
  readonly tell: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
}

/** Nothing but a change of the object, which the watch brings, can mend it. */
const REMINDER: Ms = 10 * 60_000;

/**
 * Says on the object itself that it cannot be read, and why: nothing is done for it until somebody mends it, and the
 * others go on. Its status may be what cannot be read, so nothing of it is taken for granted.
 *
 * Where a field has a wrong type the API server refuses every write of the object, its status included: then the event is
 * all that there is.
 */
export async function reportUndecodable(
  { clock, objects, tell }: UndecodableOptions,
  raw: KubeObject,
  problems: readonly DecodeProblem[],
  { logger, signal }: ReconcileContext,
): Promise<Requeue> {
  const words = `The object cannot be read: ${problems.map(describeProblem).join('; ')}. Correct that; nothing is done for the object until then.`;
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
      state('Ready', 'False', 'InvalidObject', words),
      state('Reconciling', 'False', 'Stalled'),
      state('Stalled', 'True', 'InvalidObject', words),
    ],
    formatTimestamp(clock.now()),
  );
  logger.warn('Object cannot be read', { problems: problems.map(describeProblem) });
  // Told when it begins, once; where the conditions cannot be written, each time, since nothing else says it.
  if (conditionOf(before, 'Ready')?.message !== words)
    tell(raw, { type: 'Warning', reason: 'InvalidObject', message: words });
  try {
    const written = await objects.patchRawStatus(raw, { observedGeneration, conditions }, signal);
    if (!written) return { kind: 'conflict' };
  } catch (error) {
    if (!isInvalid(error)) throw error;
    logger.warn('Object cannot be written either', { refusal: error.message });
  }
  return { kind: 'after', delay: REMINDER, why: 'InvalidObject' };
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
