import { fieldAt } from '../../../api/record.ts';
import type { KubeObject } from '../../../pkg/kube/types.ts';

export function isAtRest({ metadata, status }: KubeObject): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    fieldAt(status, 'observedGeneration') === metadata.generation &&
    fieldAt(status, 'predecessors') === undefined &&
    isTrue(status, 'Ready') &&
    !isTrue(status, 'Paused')
  );
}

function isTrue(status: unknown, type: string): boolean {
  const conditions = fieldAt(status, 'conditions');
  return (
    Array.isArray(conditions) &&
    conditions.some((condition) => fieldAt(condition, 'type') === type && fieldAt(condition, 'status') === 'True')
  );
}
