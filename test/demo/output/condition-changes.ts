import type { RawCondition } from '../../envtest/clients/api.ts';

/**
 * Returns the conditions in the list `after` that are new or differ from the condition of the same type in the list
 * `before`. Leaves out a new condition with status False if False is its normal status, as it is for Stalled.
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
 * Describes conditions that changed at the same time: the reason of each, and its message unless an earlier condition
 * of the list has the same message.
 */
export function describeConditionChanges(changes: readonly RawCondition[]): readonly string[] {
  return changes.map(({ reason = '', message = '' }, index) => {
    const isTold = changes.slice(0, index).some((other) => other.message === message);
    return message === '' || isTold ? reason : `${reason}: ${message}`;
  });
}
