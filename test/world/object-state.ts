import type { RawCondition, RawObject } from '../envtest/clients/api.ts';

/** @throws if the object has no condition of this type */
export function conditionOf({ status, metadata }: RawObject, type: string): RawCondition {
  const found = status?.conditions?.find((condition) => condition.type === type);
  if (found === undefined) throw new Error(`${metadata.name} has no condition ${type}`);
  return found;
}

export const messageOf = (object: RawObject, type: string): string => conditionOf(object, type).message ?? '';

/**
 * Returns the status and reason of an object's conditions Ready, Reconciling, and Stalled, e.g.
 * `{ Ready: 'False Refused', Reconciling: 'False', Stalled: 'True Refused' }`. The result omits the reason of
 * Reconciling and Stalled if their status is False.
 */
export function summaryOf(object: RawObject): { Ready: string; Reconciling: string; Stalled: string } {
  const summarize = (type: string): string => {
    const { status, reason = '' } = conditionOf(object, type);
    return type !== 'Ready' && status === 'False' ? status : `${status} ${reason}`;
  };
  return { Ready: summarize('Ready'), Reconciling: summarize('Reconciling'), Stalled: summarize('Stalled') };
}

/**
 * The conditions of an AWSFargateProfile that waits, and that the manager reconciles again without an action of a user.
 * They are in the short form that `summaryOf` returns.
 */
export const waiting = (reason: string) => ({
  Ready: `False ${reason}`,
  Reconciling: `True ${reason}`,
  Stalled: 'False',
});
