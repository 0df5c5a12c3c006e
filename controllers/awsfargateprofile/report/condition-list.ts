import { cut, MAX_MESSAGE } from 'controller-runtime/text';
import type { ObjectMeta } from 'controller-runtime/schema';
import type { Condition } from '../../../api/v1beta2/index.ts';

/** `lastTransitionTime` depends on the previous condition, so {@link mergeConditions} adds it. */
export type ConditionUpdate = Omit<Condition, 'lastTransitionTime' | 'severity'>;

export function conditionUpdate(
  { metadata }: { readonly metadata: ObjectMeta },
  type: ConditionType,
  status: Condition['status'],
  reason: string,
  message = '',
): ConditionUpdate {
  return { type, status, observedGeneration: metadata.generation ?? 0, reason, message };
}

const OWNED = [
  'Ready',
  'CredentialsReady',
  'EKSFargateProfileReady',
  'IAMFargateRolesReady',
  'Available',
  'Reconciling',
  'Stalled',
  'SelectorsOverlap',
  'Deleting',
  'Paused',
] as const;
export type ConditionType = (typeof OWNED)[number];

/** Cluster API Provider AWS leaves these conditions on an object that this controller takes over. */
const LEFT_BEHIND: readonly string[] = ['EKSFargateCreating', 'EKSFargateDeleting'];

/** `Ready` comes first, as in Cluster API's own objects, and these conditions come last. */
const LAST: readonly string[] = ['Paused', 'Deleting'];

/** `lastTransitionTime` changes only with a condition's status, so the same values give the same list. */
export function mergeConditions(
  before: readonly Condition[],
  updates: readonly ConditionUpdate[],
  timestamp: string,
): readonly Condition[] {
  const kept = before.filter(({ type }) => !LEFT_BEHIND.includes(type) && !updates.some((each) => each.type === type));
  const merged = updates.map((each): Condition => {
    const previous = before.find(({ type }) => type === each.type);
    const since = previous?.status === each.status ? previous.lastTransitionTime : timestamp;
    return { ...each, message: cut(each.message ?? '', MAX_MESSAGE), lastTransitionTime: since };
  });
  return [...kept, ...merged].toSorted(byRank);
}

export function conditionOf(conditions: readonly Condition[] | undefined, type: ConditionType): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

function byRank(a: Condition, b: Condition): number {
  return rank(a.type) - rank(b.type) || (a.type < b.type ? -1 : a.type > b.type ? 1 : 0);
}

function rank(type: string): number {
  if (type === 'Ready') return 0;
  return LAST.includes(type) ? 2 + LAST.indexOf(type) : 1;
}
