import type { Condition, KubeObject } from '../envtest/api.ts';

export function conditionOf({ status, metadata }: KubeObject, type: string): Condition {
  const found = status?.conditions?.find((condition) => condition.type === type);
  if (found === undefined) throw new Error(`${metadata.name} has no condition ${type}`);
  return found;
}

export const messageOf = (object: KubeObject, type: string): string => conditionOf(object, type).message ?? '';

/** The conditions that tell people and tools how it goes: `{ Ready: 'False Refused', Reconciling: 'False', … }`. */
export function standing(object: KubeObject): { Ready: string; Reconciling: string; Stalled: string } {
  const told = (type: string): string => {
    const { status, reason = '' } = conditionOf(object, type);
    return type !== 'Ready' && status === 'False' ? status : `${status} ${reason}`;
  };
  return { Ready: told('Ready'), Reconciling: told('Reconciling'), Stalled: told('Stalled') };
}

/** A human must act. */
export const stalled = (reason: string) => ({
  Ready: `False ${reason}`,
  Reconciling: 'False',
  Stalled: `True ${reason}`,
});

/** It goes on by itself. */
export const waiting = (reason: string) => ({
  Ready: `False ${reason}`,
  Reconciling: `True ${reason}`,
  Stalled: 'False',
});
