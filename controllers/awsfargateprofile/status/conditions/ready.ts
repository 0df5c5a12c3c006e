import type { Ms } from '../../../../pkg/env/clock.ts';
import { isDeleting } from '../../../shared/object-state.ts';
import { conditionOf } from './condition-list.ts';
import { adviceAfter } from './advice.ts';
import { type CompletedPass, isOfReplacement, noticesOf } from '../../model/pass.ts';
import { type Reason, keepsReady, mayStopBeforeAwsRead, messageOf, natureOf } from '../../reasons/reasons.ts';
import { type ConditionContent, DELETING, falseFor, trueFor, unchangedValue, unknownFor } from './condition-content.ts';
import { noticeAfter } from './stalled.ts';

/** How long `Ready` stays True while AWS or the API server cannot be read. */
const OUTAGE_TOLERANCE: Ms = 15 * 60_000;

const READY_WITH_NOTICE = 'The Fargate profile is ACTIVE, but condition Stalled shows a problem';

export function readyValue(pass: CompletedPass, reason: Reason | undefined): ConditionContent {
  if (isDeleting(pass.object))
    return { ...DELETING, message: reason === undefined ? '' : messageOf(reason, pass.waited) };
  if (reason === undefined) {
    const replacement = noticesOf(pass).find(isOfReplacement);
    const summary =
      replacement !== undefined
        ? describeReplacement(pass, replacement)
        : noticeAfter(pass) !== undefined
          ? READY_WITH_NOTICE
          : 'The Fargate profile is ACTIVE and matches the spec';
    const advice = adviceAfter(pass).map(({ message }) => message);
    return trueFor(replacement?.name ?? 'Ready', advice.length === 0 ? summary : `${summary}. ${advice.join(' ')}`);
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

function describeReplacement(pass: CompletedPass, replacement: Reason): string {
  const others = noticesOf(pass).filter((notice) => notice !== replacement);
  return [replacement, ...others].map((notice) => messageOf(notice, pass.waited)).join('. ');
}

/**
 * On an object that was Ready. `kept`: `Ready` stays as it is, in an outage only for a while. `lost`: that time is
 * over, and it becomes Unknown. `none`: it is False, or the object was not Ready.
 */
export function effectOnReady(pass: CompletedPass, reason: Reason): 'kept' | 'lost' | 'none' {
  const { object, facts, waited } = pass;
  const isOfThisSpec = object.status?.observedGeneration === object.metadata.generation;
  const isReady = conditionOf(object.status?.conditions, 'Ready')?.status === 'True';
  if (keepsReady(reason)) {
    return isReady && isOfThisSpec && !isDeleting(object) && !isSeenBroken(pass) ? 'kept' : 'none';
  }
  const isOutage = natureOf(reason) === 'outage' && !isProfileSeenLost(pass);
  const isUnobserved = isOutage || (mayStopBeforeAwsRead(reason) && facts === undefined);
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

const isSeenBroken = ({ facts }: CompletedPass): boolean =>
  facts !== undefined &&
  (facts.plan.profile === 'broken' || facts.plan.role === 'broken' || facts.plan.role === 'notRead');

/** A later call to AWS may have got no answer. */
const isProfileSeenLost = ({ facts }: CompletedPass): boolean =>
  facts?.desired.wanted !== undefined && facts.plan.profile === 'broken';
