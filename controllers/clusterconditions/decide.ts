import { CLUSTER_GROUP } from '../../api/external/index.ts';
import { fieldAt, textAt, isRecord, type UnknownRecord } from '../../api/record.ts';
import { WATCH_FILTER_LABEL, KIND, type ConditionStatus } from '../../api/v1beta2/index.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { hasPausedAnnotation, isMoving } from '../shared/object-state.ts';
import { MAX_FACT, cut } from '../../api/text.ts';
import { toPrintableLine } from '../../pkg/env/printable.ts';

/** The version in whose `status.conditions` Cluster API looks for the conditions of `spec.availabilityGates`. */
const VERSION_WITH_CONDITIONS = `${CLUSTER_GROUP}/v1beta2`;

export interface ClusterInputs {
  readonly cluster: KubeObject;
  /** Sorted by name. */
  readonly profiles: readonly KubeObject[];
  /** undefined: each Cluster is reconciled. */
  readonly watchFilter: string | undefined;
  readonly timestamp: string;
}

export type Action =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'set';
      readonly condition: ConditionValue & { readonly type: string; readonly lastTransitionTime: string };
    }
  | { readonly kind: 'remove' };

const NONE: Action = { kind: 'none' };

/**
 * A Cluster has the condition only with the consent of its user, who lists it in `spec.availabilityGates`. It does not
 * change while the Cluster is paused or being moved.
 */
export function decide({ cluster, profiles, watchFilter, timestamp }: ClusterInputs): Action {
  if (cluster.apiVersion !== VERSION_WITH_CONDITIONS || !isSelected(cluster, watchFilter) || isPaused(cluster))
    return NONE;
  const current = findCondition(cluster, FARGATE_PROFILES_READY);
  if (!hasAvailabilityGate(cluster)) return current === undefined ? NONE : { kind: 'remove' };
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

/** The type of the condition. Users write it into spec.availabilityGates. */
export const FARGATE_PROFILES_READY = 'FargateProfilesReady';

/** The condition is written only if one of these fields differs. */
interface ConditionValue {
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

/** The condition with its fields unchecked. */
export const findCondition = ({ status }: KubeObject, type: string): UnknownRecord | undefined =>
  itemsAt(status, 'conditions').find((each) => each['type'] === type);

const hasAvailabilityGate = ({ spec }: KubeObject): boolean =>
  itemsAt(spec, 'availabilityGates').some((gate) => textAt(gate, 'conditionType') === FARGATE_PROFILES_READY);

function itemsAt(value: unknown, field: string): readonly UnknownRecord[] {
  const items = fieldAt(value, field);
  return Array.isArray(items) ? items.filter(isRecord) : [];
}

/** How many AWSFargateProfiles that are not Ready a message names: as many as in Cluster API's conditions. */
const MAX_NAMED = 3;
/** The maximum length of the message about one AWSFargateProfile, in UTF-16 code units. */
const MAX_TEXT = 200;

/** In the form in which Cluster API summarizes Machines. Equal profiles in the same order give equal conditions. */
export function summarizeProfiles(profiles: readonly KubeObject[]): ConditionValue {
  if (profiles.length === 0)
    return { status: 'True', reason: 'NoProfiles', message: `No ${KIND} names this Cluster in spec.clusterName` };
  const withStatus = (status: string): readonly KubeObject[] => profiles.filter((each) => readyStatus(each) === status);
  const [notReady, unknown] = [withStatus('False'), withStatus('Unknown')];
  const others = [...notReady, ...unknown];
  const all = profiles.length;
  const count = `${all - others.length} of ${all} ${nounFor(all)} ${all === 1 ? 'is' : 'are'} Ready`;
  if (others.length === 0) return { status: 'True', reason: 'Ready', message: count };
  const rest = others.length - MAX_NAMED;
  const lines = [
    `* ${count}`,
    ...others.slice(0, MAX_NAMED).map((each) => `* ${KIND} ${each.metadata.name}: ${describeReady(each)}`),
    ...(rest > 0 ? [`* And ${rest} more ${nounFor(rest)} not Ready`] : []),
  ];
  const message = lines.join('\n');
  return notReady.length > 0
    ? { status: 'False', reason: 'NotReady', message }
    : { status: 'Unknown', reason: 'ReadyUnknown', message };
}

const nounFor = (count: number): string => (count === 1 ? KIND : `${KIND}s`);

/** The status of the condition Ready. A condition that is missing or malformed counts as Unknown. */
function readyStatus(profile: KubeObject): ConditionValue['status'] {
  const status = textAt(findCondition(profile, 'Ready'), 'status');
  return status === 'True' || status === 'False' ? status : 'Unknown';
}

function describeReady(profile: KubeObject): string {
  const ready = findCondition(profile, 'Ready');
  const text = textAt(ready, 'message') ?? textAt(ready, 'reason') ?? 'The manager has not reported Ready yet';
  return cut(toPrintableLine(cut(text, MAX_FACT)), MAX_TEXT);
}
