import type { RawCondition } from '../../../test/envtest/clients/api.ts';

/**
 * Returns the conditions in `after` that are new or that differ from the condition of the same type in `before`. A new
 * condition counts only if its status is not False or its type ends in Ready, because False is the normal status of
 * other types, e.g. Stalled.
 */
export function findConditionChanges(
  before: readonly RawCondition[],
  after: readonly RawCondition[],
): readonly RawCondition[] {
  return after.filter((condition) => {
    const previous = before.find(({ type }) => type === condition.type);
    return previous === undefined ? isWorthShowing(condition) : !isEqual(previous, condition);
  });
}

const isWorthShowing = ({ type, status }: RawCondition): boolean => type.endsWith('Ready') || status !== 'False';

const isEqual = (a: RawCondition, b: RawCondition): boolean =>
  a.status === b.status && a.reason === b.reason && a.message === b.message;

/**
 * Describes conditions that changed at the same time: the reason of each, with its message. A message that several
 * conditions share appears only once.
 */
export function describeConditionChanges(changes: readonly RawCondition[]): readonly string[] {
  return changes.map(({ reason = '', message = '' }, index) => {
    const isTold = changes.slice(0, index).some((other) => other.message === message);
    return message === '' || isTold ? reason : `${reason}: ${message}`;
  });
}
