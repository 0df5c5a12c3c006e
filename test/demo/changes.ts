import type { Condition } from '../envtest/api.ts';

/**
 * The conditions of `after` that say something else than in `before`, in their order. At first sight there is nothing to
 * tell about those that are good when False, such as Stalled, and are.
 */
export function changesOf(before: readonly Condition[], after: readonly Condition[]): readonly Condition[] {
  return after.filter((condition) => {
    const previous = before.find(({ type }) => type === condition.type);
    return previous === undefined ? isNews(condition) : !isSame(previous, condition);
  });
}

const isNews = ({ type, status }: Condition): boolean => type.endsWith('Ready') || status !== 'False';

const isSame = (a: Condition, b: Condition): boolean =>
  a.status === b.status && a.reason === b.reason && a.message === b.message;

/**
 * What is to be read of changes that came together: the reason, and the message where none before it said the same. Several
 * conditions speak of one matter.
 */
export function wordsOf(changes: readonly Condition[]): readonly string[] {
  return changes.map(({ reason = '', message = '' }, index) => {
    const isTold = changes.slice(0, index).some((other) => other.message === message);
    return message === '' || isTold ? reason : `${reason}: ${message}`;
  });
}
