import type { Ms } from '../../../../pkg/env/clock.ts';
import { isDeleting } from '../../../shared/object-state.ts';
import { conditionOf } from './condition-list.ts';
import { adviceAfter } from './advice.ts';
import { findProfile } from '../../decide/compare.ts';
import { isWorking } from '../../decide/decide.ts';
import type { CompletedPass } from '../../model/pass.ts';
import type { Reason } from '../../reasons/reasons.ts';
import { keepsReady, mayStopBeforeAwsRead, messageOf, natureOf } from '../../reasons/reasons.ts';
import type { ConditionContent } from './condition-content.ts';
import { DELETING, falseFor, trueFor, unchangedValue, unknownFor } from './condition-content.ts';
import { noticeAfter } from './stalled.ts';

/** How long `Ready` stays True while AWS or the API server cannot be read. */
const OUTAGE_TOLERANCE: Ms = 15 * 60_000;

const READY_WITH_NOTICE = 'The Fargate profile is ACTIVE, but condition Stalled shows a problem';

export function readyValue(pass: CompletedPass, reason: Reason | undefined): ConditionContent {
  if (isDeleting(pass.object))
    return { ...DELETING, message: reason === undefined ? '' : messageOf(reason, pass.waited) };
  if (reason === undefined) {
    const summary =
      noticeAfter(pass) !== undefined ? READY_WITH_NOTICE : 'The Fargate profile is ACTIVE and matches the spec';
    const advice = adviceAfter(pass).map(({ message }) => message);
    return trueFor('Ready', advice.length === 0 ? summary : `${summary}. ${advice.join(' ')}`);
  }
  switch (effectOnReady(pass, reason)) {
    case 'kept':
      return unchangedValue(pass, 'Ready');
    case 'lost':
      return unknownFor(reason.name, messageOf(reason, pass.waited));
    case 'none':
      return falseFor(reason, pass);
  }
}

/**
 * Returns the effect of a reason on the condition `Ready` of an object that was Ready.
 *
 * - `kept`: `Ready` stays True; in an outage of AWS only for a while.
 * - `lost`: that time is over, and `Ready` becomes Unknown until AWS can be read again.
 * - `none`: the reason makes `Ready` False, or the object was not Ready.
 */
export function effectOnReady(pass: CompletedPass, reason: Reason): 'kept' | 'lost' | 'none' {
  const { object, observed, waited } = pass;
  const isOfThisSpec = object.status?.observedGeneration === object.metadata.generation;
  const isReady = conditionOf(object.status?.conditions, 'Ready')?.status === 'True';
  if (keepsReady(reason)) {
    return isReady && isOfThisSpec && !isDeleting(object) && !isSeenBroken(pass) ? 'kept' : 'none';
  }
  const isOutage = natureOf(reason) === 'outage' && !isProfileSeenLost(pass);
  const isUnobserved = isOutage || (mayStopBeforeAwsRead(reason) && observed === undefined);
  if (!isUnobserved || !isOfThisSpec || isDeleting(object)) return 'none';
  switch (conditionOf(object.status?.conditions, 'Ready')?.status) {
    case 'True':
      return waited < OUTAGE_TOLERANCE ? 'kept' : 'lost';
    case 'Unknown':
      return 'lost';
    default:
      return 'none';
  }
}

/**
 * Whether the reconcile saw a Fargate profile that is not ACTIVE, or a role that is not as wanted. Missing tags do not
 * count, because pods run without them.
 */
const isSeenBroken = ({ desired, observed }: CompletedPass): boolean =>
  desired !== undefined &&
  observed !== undefined &&
  (observed.roles === undefined || !isWorking(desired, { ...observed, roles: observed.roles }));

/**
 * Whether the reconcile saw that the Fargate profile is not ACTIVE any more, although a later call to AWS got no
 * answer.
 */
function isProfileSeenLost({ desired, observed }: CompletedPass): boolean {
  return (
    desired?.wanted !== undefined &&
    observed !== undefined &&
    findProfile(observed.profiles, desired.wanted.profile.name)?.status !== 'ACTIVE'
  );
}
