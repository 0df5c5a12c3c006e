import type { UnknownRecord } from '../../api/record.ts';
import { fieldAt, isRecord, textAt } from '../../api/record.ts';
import type { ConditionStatus } from '../../api/v1beta2/index.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';

/** The type of the condition that this controller sets on Clusters. Users write it into spec.availabilityGates. */
export const FARGATE_PROFILES_READY = 'FargateProfilesReady';

/**
 * The fields of a condition that decide about a write: the controller writes the wanted condition only if one of these
 * fields differs in the existing condition.
 */
export interface ConditionValue {
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

/** A condition of Kubernetes (`metav1.Condition`). */
export interface ClusterCondition extends ConditionValue {
  readonly type: string;
  readonly lastTransitionTime: string;
}

/**
 * Returns the condition of the given type from the status of an object, without checking its fields; `undefined` if the
 * status has no such condition.
 */
export function findCondition({ status }: KubeObject, type: string): UnknownRecord | undefined {
  return itemsAt(status, 'conditions').find((each) => each['type'] === type);
}

/** Whether `spec.availabilityGates` of a Cluster lists a condition type. */
export function hasAvailabilityGate({ spec }: KubeObject, type: string): boolean {
  return itemsAt(spec, 'availabilityGates').some((gate) => textAt(gate, 'conditionType') === type);
}

function itemsAt(value: unknown, field: string): readonly UnknownRecord[] {
  const items = fieldAt(value, field);
  return Array.isArray(items) ? items.filter(isRecord) : [];
}
