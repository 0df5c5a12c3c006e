import type { Condition } from '../../api/v1beta2/index.ts';

/** A condition before it is known since when it has its status. */
export type Stated = Omit<Condition, 'lastTransitionTime' | 'severity'>;

/** The conditions that this controller sets; others on the object are somebody else's and stay as they are. */
const OWNED = [
  'Ready',
  'CredentialsReady',
  'EKSFargateProfileReady',
  'IAMFargateRolesReady',
  'Reconciling',
  'Stalled',
  'Deleting',
  'Paused',
] as const;
export type ConditionType = (typeof OWNED)[number];

/** Set by Cluster API Provider AWS on objects taken over from it, and true no longer. */
const LEFT_BEHIND: readonly string[] = ['EKSFargateCreating', 'EKSFargateDeleting'];

/** The summary is read first, what ends the object last: the order of Cluster API's own conditions. */
const LAST: readonly string[] = ['Paused', 'Deleting'];

/**
 * The object's conditions after `stated` became known.
 *
 * A condition that is not stated keeps what it said; `lastTransitionTime` moves only with the status. Two calls with the
 * same facts give the same list, so that nothing is written when nothing changed.
 */
export function mergeConditions(
  before: readonly Condition[],
  stated: readonly Stated[],
  timestamp: string,
): readonly Condition[] {
  const kept = before.filter(({ type }) => !LEFT_BEHIND.includes(type) && !stated.some((each) => each.type === type));
  const merged = stated.map((each): Condition => {
    const previous = before.find(({ type }) => type === each.type);
    const since = previous?.status === each.status ? previous.lastTransitionTime : timestamp;
    return { ...each, lastTransitionTime: since };
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
