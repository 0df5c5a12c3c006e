import type { Condition, DecodeProblem } from '../../api/v1beta2/index.ts';
import { describeProblem } from '../../api/v1beta2/index.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import { formatTimestamp } from '../../pkg/env/timestamp.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { ReconcileContext, Requeue } from '../../pkg/runtime/types.ts';
import { mergeConditions } from './conditions.ts';
import type { ProfileObjects } from './objects.ts';

/**
 * Says on the object itself that it cannot be read, and why: nothing is done for it until somebody mends it, and the
 * others go on. Its status may be what cannot be read, so nothing of it is taken for granted.
 */
export async function reportUndecodable(
  { clock, objects }: { readonly clock: Clock; readonly objects: ProfileObjects },
  raw: KubeObject,
  problems: readonly DecodeProblem[],
  { logger, signal }: ReconcileContext,
): Promise<Requeue> {
  const words = `the object cannot be read: ${problems.map(describeProblem).join('; ')}`;
  const observedGeneration = raw.metadata.generation ?? 0;
  const state = (type: string, status: Condition['status'], reason: string, message = '') => ({
    type,
    status,
    reason,
    message,
    observedGeneration,
  });
  const conditions = mergeConditions(
    readableConditions(raw),
    [
      state('Ready', 'False', 'InvalidObject', words),
      state('Reconciling', 'False', 'Stalled'),
      state('Stalled', 'True', 'InvalidObject', words),
    ],
    formatTimestamp(clock.now()),
  );
  logger.warn('Object cannot be read', { problems: problems.map(describeProblem) });
  const written = await objects.patchRawStatus(raw, { observedGeneration, conditions }, signal);
  return written ? { kind: 'done' } : { kind: 'backoff', why: 'the object was changed meanwhile' };
}

function readableConditions({ status }: KubeObject): readonly Condition[] {
  const conditions = isRecord(status) ? status['conditions'] : undefined;
  return Array.isArray(conditions) ? conditions.filter(isCondition) : [];
}

const isCondition = (value: unknown): value is Condition =>
  isRecord(value) &&
  typeof value['type'] === 'string' &&
  (value['status'] === 'True' || value['status'] === 'False' || value['status'] === 'Unknown') &&
  typeof value['lastTransitionTime'] === 'string';

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
