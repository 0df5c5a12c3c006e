import type { Condition } from '../../../../api/v1beta2/index.ts';
import { type ConditionType, conditionOf } from './condition-list.ts';
import type { CompletedPass } from '../../model/pass.ts';
import { type Reason, isKubernetesReason, messageOf } from '../../reasons/reasons.ts';

export interface ConditionContent {
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

export const trueFor = (reason: string, message = ''): ConditionContent => ({ status: 'True', reason, message });
export const falseFor = (reason: Reason, { waited }: CompletedPass): ConditionContent => ({
  status: 'False',
  reason: reason.name,
  message: messageOf(reason, waited),
});
export const unknownFor = (reason: string, message = ''): ConditionContent => ({ status: 'Unknown', reason, message });
export const DELETING: ConditionContent = { status: 'False', reason: 'Deleting', message: '' };

/** For a pass that has no new value. A problem in Kubernetes objects is solved when such a pass ends. */
export function unchangedValue({ object }: CompletedPass, type: ConditionType): ConditionContent {
  const before = conditionOf(object.status?.conditions, type);
  return before === undefined || isKubernetesReason(before.reason)
    ? unknownFor('NotChecked')
    : { status: before.status, reason: before.reason ?? 'NotChecked', message: before.message ?? '' };
}
