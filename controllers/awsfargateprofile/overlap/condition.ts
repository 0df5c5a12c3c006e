import { isRight } from 'fp-ts/lib/Either.js';
import type { TypedStoreReader } from 'controller-runtime/cache';
import { keyOf, keyText, type ObjectKey } from 'controller-runtime/client';
import { formatTimestamp, type Ms } from 'controller-runtime/env';
import { toPrintableLine } from 'controller-runtime/text';
import type { AWSFargateProfile, AWSFargateProfileStatus, Condition } from '../../../api/v1beta2/index.ts';
import {
  type Competitor,
  type Overlap,
  type OVERLAP_REASONS,
  findOverlap,
  findTaken,
  isPreferred,
} from '../../../pkg/fargate/overlap.ts';
import { type OperatorLimits, findEksClusterExcess } from '../../../pkg/fargate/operator-limits.ts';
import { describeSelectors, toSelectors } from '../../../pkg/fargate/selectors.ts';
import type { FargateSelector } from '../../../pkg/cloud/index.ts';
import { BY_LOCATION, locationsOf } from '../../shared/caches.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { currentProfileNameOf } from '../../shared/profile-names.ts';
import { conditionUpdate, mergeConditions } from '../report/condition-list.ts';

export interface CompetingObject extends Competitor {
  readonly object: ObjectKey;
  /** The key in {@link BY_LOCATION}: account, region, and EKS cluster. */
  readonly location: string;
  /**
   * Whether the operator allows the namespace to use the EKS cluster in the status. Other clients may have written the
   * status, so without this permission, the object is compared only with objects in its namespace.
   */
  readonly isAllowed: boolean;
}

/**
 * `overlap` contains the first two selectors that can both match a pod. `taken` contains the object's selectors whose
 * pods all go to the rival's profile.
 */
export interface Rival extends CompetingObject {
  readonly overlap: Overlap;
  readonly taken: readonly FargateSelector[];
}

/**
 * How many pairs of selectors are compared before other work of the process gets a turn. Suffices for the ten profiles
 * of five selectors that EKS allows in a cluster.
 */
export const PAIRS_AT_ONCE = 250;

const MOST_NAMED = 3;

/**
 * EKS allows five selectors with five labels each, and AWS raises these quotas on request. The CRD admits more and
 * longer selectors, for which no profile can be created. They are not compared, so that each comparison takes less than
 * 0.1 ms.
 */
const MOST_SELECTORS = 10;
const MOST_LABELS = 10;
/** In characters, like Kubernetes namespaces and label values. */
const LONGEST = 63;
/** In characters, like Kubernetes label keys: a DNS name of 253, a slash, and a name of 63. */
const LONGEST_KEY = 317;

const isComparable = ({ namespace, labels }: FargateSelector): boolean => {
  const entries = Object.entries(labels);
  return (
    namespace.length <= LONGEST &&
    entries.length <= MOST_LABELS &&
    entries.every(([key, value]) => key.length <= LONGEST_KEY && value.length <= LONGEST)
  );
};

function isEksClusterAllowed({ metadata, spec, status = {} }: AWSFargateProfile, limits: OperatorLimits): boolean {
  const { account, region, eksClusterName: name } = status;
  if (account === undefined || region === undefined || name === undefined) return false;
  const isNamed = spec.eksCluster?.name === name;
  return isNamed && findEksClusterExcess(limits, metadata.namespace, { account, region, name }).length === 0;
}

const competes = (me: CompetingObject, other: CompetingObject): boolean =>
  me.object.namespace === other.object.namespace
    ? me.object.name !== other.object.name
    : me.isAllowed && other.isAllowed;

/** Compares the selectors of all AWSFargateProfiles that this manager sees. */
export class Competition {
  private readonly profiles: Pick<TypedStoreReader<AWSFargateProfile>, 'byIndex'>;
  private readonly limits: OperatorLimits;
  /** Each version of an object is converted once, because all objects of a cluster are compared with each other. */
  private readonly competitors = new WeakMap<AWSFargateProfile, CompetingObject>();

  constructor(profiles: Pick<TypedStoreReader<AWSFargateProfile>, 'byIndex'>, limits: OperatorLimits) {
    this.profiles = profiles;
    this.limits = limits;
  }

  /**
   * Returns `undefined` if the EKS cluster is not known yet, or if the object is being deleted, because its profile does
   * not take new pods for long.
   */
  competitorOf(object: AWSFargateProfile): CompetingObject | undefined {
    const [location] = locationsOf(object);
    if (location === undefined || isDeleting(object)) return undefined;
    const known = this.competitors.get(object);
    if (known !== undefined) return known;
    const selectors = toSelectors(object.spec.selectors ?? [])
      .filter(isComparable)
      .slice(0, MOST_SELECTORS);
    const [name, isAllowed] = [currentProfileNameOf(object), isEksClusterAllowed(object, this.limits)];
    const competitor = { object: keyOf(object), location, name, selectors, isAllowed };
    this.competitors.set(object, competitor);
    return competitor;
  }

  /**
   * Sets the condition SelectorsOverlap, unless comparing so many selectors would take long: the overlap controller then
   * sets it when the object is at rest.
   */
  withFewRivals(object: AWSFargateProfile, status: AWSFargateProfileStatus, now: Ms): AWSFargateProfileStatus {
    const me = this.competitorOf({ ...object, status });
    const others = me === undefined ? [] : this.othersFor(me);
    return me === undefined || pairsOf(me, others) > PAIRS_AT_ONCE
      ? status
      : withOverlap(status, object, me, findRivals(me, others), now);
  }

  /** Returns the objects for the same EKS cluster that may be compared with this one. */
  othersFor(me: CompetingObject): readonly CompetingObject[] {
    const listing = this.profiles.byIndex(BY_LOCATION, me.location);
    if (listing.kind !== 'listed') return [];
    return listing.entries.flatMap(({ decoded }) => {
      const other = isRight(decoded) ? this.competitorOf(decoded.right) : undefined;
      return other !== undefined && competes(me, other) ? [other] : [];
    });
  }
}

/** How many pairs of selectors the two sides have. */
export const pairsOf = (me: CompetingObject, others: readonly CompetingObject[]): number =>
  others.reduce((sum, { selectors }) => sum + selectors.length * me.selectors.length, 0);

export const findRivals = (me: CompetingObject, others: readonly CompetingObject[]): readonly Rival[] =>
  others.flatMap((other) => {
    const overlap = findOverlap(me, other);
    return overlap === undefined ? [] : [{ ...other, overlap, taken: findTaken(me, other) }];
  });

/** Sets the condition SelectorsOverlap. */
export function withOverlap(
  status: AWSFargateProfileStatus,
  object: AWSFargateProfile,
  me: CompetingObject,
  rivals: readonly Rival[],
  now: Ms,
): AWSFargateProfileStatus {
  const update = conditionUpdate(object, 'SelectorsOverlap', ...describeRivals(me, rivals));
  return { ...status, conditions: mergeConditions(status.conditions ?? [], [update], formatTimestamp(now)) };
}

function describeRivals(
  me: CompetingObject,
  rivals: readonly Rival[],
): readonly [status: Condition['status'], reason: string, message?: string] {
  if (rivals.length === 0) return ['False', 'NoOverlapSeen'];
  const isLost = me.selectors.length > 0 && new Set(rivals.flatMap(({ taken }) => taken)).size === me.selectors.length;
  const sorted = rivals.toSorted((a, b) => (isPreferred(a.name, b.name) ? -1 : 1));
  const named = sorted.slice(0, MOST_NAMED).map(({ object, name, overlap: { mine, theirs } }) => {
    const taker = isPreferred(name, me.name) ? name : me.name;
    return `both ${text(mine)} of this object and ${text(theirs)} of AWSFargateProfile ${keyText(object)}, and then starts on profile "${taker}"`;
  });
  const rest = sorted.length > MOST_NAMED ? [`selectors of ${sorted.length - MOST_NAMED} more objects`] : [];
  const message = [
    isLost
      ? 'No pod starts on this profile by its selectors, because profiles whose names sort first match every such pod'
      : 'If a pod matches several profiles, EKS starts it on the profile whose name sorts first',
    `A pod can match ${[...named, ...rest].join('; ')}`,
    'Narrow the selectors, or set the label eks.amazonaws.com/fargate-profile of the pods to the name of the profile that you want.',
  ].join('. ');
  const reason: (typeof OVERLAP_REASONS)[number] = isLost ? 'Shadowed' : 'Overlap';
  return ['True', reason, toPrintableLine(message)];
}

const text = (selector: FargateSelector): string => describeSelectors([selector]);
