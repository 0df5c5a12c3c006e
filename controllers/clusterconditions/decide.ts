import { CLUSTER_GROUP } from '../../api/external/index.ts';
import { fieldAt, textAt } from '../../api/record.ts';
import { WATCH_FILTER_LABEL } from '../../api/v1beta2/index.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { hasPausedAnnotation, isMoving } from '../shared/object-state.ts';
import type { ClusterCondition, ConditionValue } from './condition.ts';
import { FARGATE_PROFILES_READY, findCondition, hasAvailabilityGate } from './condition.ts';
import { summarizeProfiles } from './summarize.ts';

/**
 * The API version of Clusters in whose `status.conditions` Cluster API's core looks for the conditions that
 * `spec.availabilityGates` lists.
 */
const VERSION_WITH_CONDITIONS = `${CLUSTER_GROUP}/v1beta2`;

/** The facts on which one reconcile of a Cluster decides. */
export interface ClusterInputs {
  readonly cluster: KubeObject;
  /** The AWSFargateProfiles whose spec.clusterName names the Cluster, sorted by name. */
  readonly profiles: readonly KubeObject[];
  /** The value of the watch-filter label that the Cluster must have; `undefined`: each Cluster is reconciled. */
  readonly watchFilter: string | undefined;
  /** The current time in RFC 3339, the format of the times in conditions. */
  readonly timestamp: string;
}

export type Action =
  | { readonly kind: 'none' }
  | { readonly kind: 'set'; readonly condition: ClusterCondition }
  | { readonly kind: 'remove' };

const NONE: Action = { kind: 'none' };

/**
 * Decides whether to set or to remove the condition FargateProfilesReady of a Cluster. A Cluster has the condition only
 * with the consent of its user, who lists the condition in `spec.availabilityGates`. The condition does not change
 * while the Cluster is paused or being moved to another management cluster.
 */
export function decide({ cluster, profiles, watchFilter, timestamp }: ClusterInputs): Action {
  if (cluster.apiVersion !== VERSION_WITH_CONDITIONS || !isSelected(cluster, watchFilter) || isPaused(cluster))
    return NONE;
  const current = findCondition(cluster, FARGATE_PROFILES_READY);
  if (!hasAvailabilityGate(cluster, FARGATE_PROFILES_READY)) return current === undefined ? NONE : { kind: 'remove' };
  const wanted = summarizeProfiles(profiles);
  if (isSame(current, wanted)) return NONE;
  const since = textAt(current, 'lastTransitionTime');
  const lastTransitionTime = since !== undefined && textAt(current, 'status') === wanted.status ? since : timestamp;
  return { kind: 'set', condition: { type: FARGATE_PROFILES_READY, ...wanted, lastTransitionTime } };
}

const isSelected = ({ metadata }: KubeObject, watchFilter: string | undefined): boolean =>
  watchFilter === undefined || metadata.labels?.[WATCH_FILTER_LABEL] === watchFilter;

const isPaused = (cluster: KubeObject): boolean =>
  fieldAt(cluster['spec'], 'paused') === true || hasPausedAnnotation(cluster) || isMoving(cluster);

const isSame = (current: unknown, { status, reason, message }: ConditionValue): boolean =>
  fieldAt(current, 'status') === status &&
  fieldAt(current, 'reason') === reason &&
  fieldAt(current, 'message') === message;
