import { isRight } from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { toPrintableLine } from '../../../pkg/env/printable.ts';
import { formatTimestamp } from '../../../pkg/env/timestamp.ts';
import { type Competitor, type Overlap, findOverlap, isPreferred, isShadowed } from '../../../pkg/fargate/overlap.ts';
import { describeSelectors, toSelectors } from '../../../pkg/fargate/selectors.ts';
import type { FargateSelector } from '../../../pkg/cloud/index.ts';
import type { TypedEntry, TypedStoreReader } from '../../../pkg/kube/cache/typed-store.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import { BY_LOCATION, locationsOf } from '../../shared/caches.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { currentProfileNameOf } from '../../shared/profile-names.ts';
import { type ConditionUpdate, mergeConditions } from './conditions/condition-list.ts';

export interface CompetingObject extends Competitor {
  readonly object: ObjectKey;
}

/** `overlap` has the first two selectors that a pod can match both. */
export interface Rival extends CompetingObject {
  readonly overlap: Overlap;
}

export const OVERLAP_REASONS = ['Overlap', 'Shadowed'] as const;

const MOST_NAMED = 3;

/**
 * EKS allows five selectors with five labels each, and AWS raises these quotas on request. The CRD admits more and longer
 * ones, of which no profile can be made: they are not compared, so that each comparison takes less than 0.1 ms.
 */
const MOST_SELECTORS = 10;
const MOST_LABELS = 10;
/** In characters, as the names of namespaces and the values of labels in Kubernetes. */
const LONGEST = 63;

const isComparable = ({ namespace, labels }: FargateSelector): boolean =>
  [namespace, ...Object.values(labels)].every(({ length }) => length <= LONGEST) &&
  Object.keys(labels).length <= MOST_LABELS;

const competitors = new WeakMap<AWSFargateProfile, CompetingObject>();

/**
 * Each version of an object is converted once, because all objects of a cluster are compared with each other. The profile of a deleted
 * object does not take new pods for long.
 */
export function competitorOf(object: AWSFargateProfile): CompetingObject | undefined {
  if (isDeleting(object)) return undefined;
  const known = competitors.get(object);
  if (known !== undefined) return known;
  const selectors = toSelectors(object.spec.selectors ?? [])
    .filter(isComparable)
    .slice(0, MOST_SELECTORS);
  const competitor = { object: keyOf(object), name: currentProfileNameOf(object), selectors };
  competitors.set(object, competitor);
  return competitor;
}

export const findRivals = (me: CompetingObject, others: readonly CompetingObject[]): readonly Rival[] =>
  others.flatMap((other) => {
    const overlap = findOverlap(me, other);
    return overlap === undefined ? [] : [{ ...other, overlap }];
  });

/** So many pairs of selectors are compared at once. With more, the overlap controller compares the object, in turns. */
export const MOST_PAIRS_AT_ONCE = 500;

export const pairsOf = (me: CompetingObject, others: readonly CompetingObject[]): number =>
  others.reduce((sum, { selectors }) => sum + selectors.length * me.selectors.length, 0);

/** With many objects in the EKS cluster, the overlap controller sets the condition. */
export function withFewRivals(
  object: AWSFargateProfile,
  status: AWSFargateProfileStatus,
  profiles: Pick<TypedStoreReader<AWSFargateProfile>, 'byIndex'>,
  now: Ms,
): AWSFargateProfileStatus {
  const [location] = locationsOf({ metadata: object.metadata, status });
  const me = competitorOf({ ...object, status });
  const listing = location === undefined ? undefined : profiles.byIndex(BY_LOCATION, location);
  if (me === undefined || listing?.kind !== 'listed') return status;
  const others = competitorsIn(listing.entries, me);
  return pairsOf(me, others) > MOST_PAIRS_AT_ONCE
    ? status
    : withOverlap(status, object, me, findRivals(me, others), now);
}

export const competitorsIn = (
  entries: readonly TypedEntry<AWSFargateProfile>[],
  me: CompetingObject,
): readonly CompetingObject[] =>
  entries.flatMap(({ decoded }) => {
    const other = isRight(decoded) ? competitorOf(decoded.right) : undefined;
    return other === undefined || keyText(other.object) === keyText(me.object) ? [] : [other];
  });

export function withOverlap(
  status: AWSFargateProfileStatus,
  { metadata }: AWSFargateProfile,
  me: CompetingObject,
  rivals: readonly Rival[],
  now: Ms,
): AWSFargateProfileStatus {
  const observedGeneration = metadata.generation ?? 0;
  const update: ConditionUpdate = { type: 'SelectorsOverlap', observedGeneration, ...describeRivals(me, rivals) };
  return { ...status, conditions: mergeConditions(status.conditions ?? [], [update], formatTimestamp(now)) };
}

function describeRivals(
  me: CompetingObject,
  rivals: readonly Rival[],
): Pick<ConditionUpdate, 'status' | 'reason' | 'message'> {
  if (rivals.length === 0) return { status: 'False', reason: 'NoOverlapSeen', message: '' };
  const isLost = isShadowed(me, rivals);
  const sorted = rivals.toSorted((a, b) => (isPreferred(a.name, b.name) ? -1 : 1));
  const named = sorted.slice(0, MOST_NAMED).map(({ object, name, overlap: { mine, theirs } }) => {
    const taker = isPreferred(name, me.name) ? name : me.name;
    return `both ${text(mine)} of this object and ${text(theirs)} of AWSFargateProfile ${keyText(object)}, and then starts on profile "${taker}"`;
  });
  const rest = sorted.length > MOST_NAMED ? [`selectors of ${sorted.length - MOST_NAMED} more objects`] : [];
  const message = [
    isLost
      ? 'This profile takes no pod by its selectors, because profiles that come first match every such pod'
      : 'EKS starts a pod that matches several profiles on the first of them in the order of names',
    `A pod can match ${[...named, ...rest].join('; ')}`,
    'Narrow the selectors, or name the wanted profile in the label eks.amazonaws.com/fargate-profile of the pods.',
  ].join('. ');
  return { status: 'True', reason: isLost ? 'Shadowed' : 'Overlap', message: toPrintableLine(message) };
}

const text = (selector: FargateSelector): string => describeSelectors([selector]);
