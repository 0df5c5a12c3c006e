import type { Ms } from 'controller-runtime/env';
import type { Condition } from '../../../api/v1beta2/index.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { type ConditionType, type ConditionUpdate, conditionOf } from './condition-list.ts';
import { type CompletedReconcile, reasonOf, isOfReplacement, noticesOf } from '../model/result.ts';
import {
  messageOf,
  type Reason,
  keepsReady,
  mayStopBeforeAwsRead,
  natureOf,
  type AffectedConditionType,
  conditionTypeOf,
  type Nature,
  patienceFor,
  isKubernetesReason,
} from '../reasons/reasons.ts';
import { type Advice, isAbout, type Change } from '../model/change.ts';
import { ATTEMPTS_UNTIL_STALLED } from '../reasons/definition.ts';
import { ACTIVE } from '../model/profile-status.ts';

export function conditionsAfter(pass: CompletedReconcile): readonly ConditionUpdate[] {
  const { object } = pass;
  const observedGeneration = object.metadata.generation ?? 0;
  const state = (type: ConditionType, status: Condition['status'], reason: string, message = ''): ConditionUpdate => ({
    type,
    status,
    observedGeneration,
    reason,
    message,
  });
  const reason = reasonOf(pass);
  const nature = reason && reportedNature(reason, pass);
  const detail = reason === undefined ? '' : messageOf(reason, pass.waited);
  const ready = readyValue(pass, reason);
  const stalled = stalledUpdate(pass, nature);
  // In an outage, an object that was Ready at this generation has Ready True or Unknown, and is not Reconciling.
  const isUnderWay = nature === 'wait' || nature === 'retry' || (nature === 'outage' && ready.status === 'False');

  const available = availableValue(pass);

  return [
    state('Ready', ready.status, ready.reason, ready.message),
    state('Available', available.status, available.reason, available.message),
    ...contentsOfAffectedConditions(pass, reason).map(([type, part]) =>
      state(type, part.status, part.reason, part.message),
    ),
    isUnderWay && stalled === undefined
      ? state('Reconciling', 'True', reason?.name ?? 'Reconciling', detail)
      : state('Reconciling', 'False', stalled === undefined ? 'Idle' : 'Stalled'),
    stalled ?? state('Stalled', 'False', 'NotStalled'),
    isDeleting(object)
      ? state('Deleting', 'True', reason?.name ?? 'Deleting', detail)
      : state('Deleting', 'False', 'NotDeleting'),
    state('Paused', 'False', 'NotPaused'),
  ];
}

/** How long `Ready` stays True while AWS or the API server cannot be read. */
const OUTAGE_TOLERANCE: Ms = 15 * 60_000;

const READY_WITH_NOTICE = 'The Fargate profile is ACTIVE, but condition Stalled shows a problem';

export function readyValue(pass: CompletedReconcile, reason: Reason | undefined): ConditionContent {
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

function describeReplacement(pass: CompletedReconcile, replacement: Reason): string {
  const others = noticesOf(pass).filter((notice) => notice !== replacement);
  return [replacement, ...others].map((notice) => messageOf(notice, pass.waited)).join('. ');
}

/**
 * Returns the effect on an object that was Ready. `kept`: `Ready` stays as it is, in an outage only for a while.
 * `lost`: that time is over, and `Ready` becomes Unknown. `none`: `Ready` is False, or the object was not Ready.
 */
export function effectOnReady(pass: CompletedReconcile, reason: Reason): 'kept' | 'lost' | 'none' {
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

const isSeenBroken = ({ facts }: CompletedReconcile): boolean =>
  facts !== undefined &&
  (facts.plan.profile === 'broken' || facts.plan.role === 'broken' || facts.plan.role === 'notRead');

/** Reports whether AWS has shown that the profile is broken. A later call to AWS may have got no answer. */
const isProfileSeenLost = ({ facts }: CompletedReconcile): boolean =>
  facts?.desired.wanted !== undefined && facts.plan.profile === 'broken';

const WAITING_FOR_ROLE: ConditionContent = {
  status: 'False',
  reason: 'WaitingForRole',
  message: 'The pod execution role is not ready: see condition IAMFargateRolesReady',
};

export function contentsOfAffectedConditions(
  pass: CompletedReconcile,
  reason: Reason | undefined,
): readonly (readonly [AffectedConditionType, ConditionContent])[] {
  return [
    ['CredentialsReady', contentOf(pass, reason, 'CredentialsReady', credentialsValue)],
    ['EKSFargateProfileReady', contentOf(pass, reason, 'EKSFargateProfileReady', profileValue)],
    ['IAMFargateRolesReady', contentOf(pass, reason, 'IAMFargateRolesReady', roleValue)],
  ];
}

/**
 * Returns the content of a condition. If `reason` does not concern this condition, it shows the observed state of AWS.
 */
function contentOf(
  pass: CompletedReconcile,
  reason: Reason | undefined,
  type: AffectedConditionType,
  observedValue: (pass: CompletedReconcile, reason: Reason | undefined) => ConditionContent,
): ConditionContent {
  if (reason === undefined) return observedValue(pass, reason);
  const effect = effectOnReady(pass, reason);
  if (effect === 'kept') return unchangedValue(pass, type);
  if (conditionTypeOf(reason) !== type) return observedValue(pass, reason);
  return effect === 'lost' ? unknownFor(reason.name, messageOf(reason, pass.waited)) : falseFor(reason, pass);
}

function credentialsValue(pass: CompletedReconcile): ConditionContent {
  return pass.facts === undefined && pass.isAuthenticated !== true
    ? unchangedValue(pass, 'CredentialsReady')
    : trueFor('Authenticated');
}

function roleValue(pass: CompletedReconcile, reason: Reason | undefined): ConditionContent {
  const { facts, object } = pass;
  if (facts?.desired.wanted === undefined)
    return isDeleting(object) ? DELETING : unchangedValue(pass, 'IAMFargateRolesReady');
  if (facts.plan.role === 'notRead') return unchangedValue(pass, 'IAMFargateRolesReady');
  if (isInSyncAfter(pass, 'role')) return trueFor('Ready');
  const notice = noticeAfter(pass);
  if (notice !== undefined && conditionTypeOf(notice) === 'IAMFargateRolesReady') return falseFor(notice, pass);
  return reason === undefined || conditionTypeOf(reason) !== undefined
    ? unknownFor('NotChecked')
    : falseFor(reason, pass);
}

function profileValue(pass: CompletedReconcile, reason: Reason | undefined): ConditionContent {
  const { facts, object } = pass;
  if (facts?.desired.wanted === undefined)
    return isDeleting(object) ? DELETING : unchangedValue(pass, 'EKSFargateProfileReady');
  if (facts.plan.role === 'notRead') return unchangedValue(pass, 'EKSFargateProfileReady');
  if (isInSyncAfter(pass, 'profile')) return trueFor('Active');
  if (reason === undefined) return unknownFor('NotChecked');
  return conditionTypeOf(reason) === 'IAMFargateRolesReady' ? WAITING_FOR_ROLE : falseFor(reason, pass);
}

/**
 * Shows whether some profile of the object is ACTIVE, even one that differs from the spec. Its tags or the record must
 * prove that it is the object's.
 */
export function availableValue(pass: CompletedReconcile): ConditionContent {
  const { facts } = pass;
  if (facts === undefined) return unchangedValue(pass, 'Available');
  const { plan, after } = facts;
  const isOwn = (name: string): boolean =>
    plan.profiles.some((own) => own.name === name && own.ownership !== 'unproven');
  const active = after.profiles.filter(({ name, status }) => status === ACTIVE && isOwn(name));
  return active.length > 0
    ? trueFor(
        'Active',
        `ACTIVE in EKS: ${active
          .map(({ name }) => `"${name}"`)
          .toSorted()
          .join(', ')}`,
      )
    : { status: 'False', reason: 'NoActiveProfile', message: 'EKS has no ACTIVE Fargate profile of this object' };
}

function isInSyncAfter({ end, facts, execution }: CompletedReconcile, what: 'profile' | 'role'): boolean {
  if (facts === undefined) return false;
  const health = facts.plan[what];
  const { changes, leftovers } = facts.plan;
  const planned = [...changes, ...leftovers].filter(({ mutation }) => isAbout(mutation) === what);
  const isMade = ({ mutation }: Change): boolean =>
    execution?.steps.some((step) => step.mutation === mutation && step.outcome.kind === 'done') === true;
  // A role works without a boundary that only the operator's flags require, but it is not in order.
  if (planned.some((each) => each.mutation.kind === 'setBoundary' && !isMade(each))) return false;
  if (end === 'inSync' || health === 'inSync' || health === 'works') return true;
  return what === 'role' && planned.length > 0 && planned.every(isMade);
}

/**
 * Returns the nature as conditions show it. `retry` becomes `human` after many attempts. For a reason with a
 * `patience`, both are shown as `retry` before this time is over, and as `human` afterwards.
 */
export function reportedNature(reason: Reason, { attempts, waited }: CompletedReconcile): Nature {
  const nature = natureOf(reason);
  if (nature !== 'retry' && nature !== 'human') return nature;
  const patience = patienceFor(reason);
  const isInVain =
    patience === undefined ? nature === 'human' || attempts >= ATTEMPTS_UNTIL_STALLED : waited >= patience;
  return isInVain ? 'human' : 'retry';
}

/**
 * Returns the condition Stalled if it is True. After many failures of a profile, the failure's message stays while the
 * controller retries once more.
 */
export function stalledUpdate(pass: CompletedReconcile, nature: Nature | undefined): ConditionUpdate | undefined {
  const { object, end, attempts, waited } = pass;
  const observedGeneration = object.metadata.generation ?? 0;
  const shown = end === 'inSync' ? noticeAfter(pass) : nature === 'human' ? end : undefined;
  if (shown !== undefined) {
    const message = messageOf(shown, waited);
    return { type: 'Stalled', status: 'True', observedGeneration, reason: shown.name, message };
  }
  const before = conditionOf(object.status?.conditions, 'Stalled');
  const isWaiting = nature === 'wait' || end === 'inSync';
  const isRetried = isWaiting && attempts >= ATTEMPTS_UNTIL_STALLED && before?.status === 'True';
  return isRetried ? { ...before, type: 'Stalled', status: 'True', observedGeneration } : undefined;
}

/** Returns a problem that is reported although AWS matches the spec, and that only a user can end. */
export const noticeAfter = (pass: CompletedReconcile): Reason | undefined =>
  pass.end === 'inSync' ? noticesOf(pass).find((notice) => isForUser(notice, pass)) : undefined;

/**
 * Reports whether a notice is shown to users: a refused change at once, and a predecessor that EKS fails to delete
 * after some attempts.
 */
const isForUser = (notice: Reason, { attempts }: CompletedReconcile): boolean =>
  natureOf(notice) === 'human' || (notice.name === 'DeleteFailed' && attempts >= ATTEMPTS_UNTIL_STALLED);

const adviceAfter = ({ end, facts }: CompletedReconcile): readonly Advice[] =>
  end === 'inSync' && facts !== undefined ? facts.plan.advice : [];

export interface ConditionContent {
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

export const trueFor = (reason: string, message = ''): ConditionContent => ({ status: 'True', reason, message });
export const falseFor = (reason: Reason, { waited }: CompletedReconcile): ConditionContent => ({
  status: 'False',
  reason: reason.name,
  message: messageOf(reason, waited),
});
export const unknownFor = (reason: string, message = ''): ConditionContent => ({ status: 'Unknown', reason, message });
export const DELETING: ConditionContent = { status: 'False', reason: 'Deleting', message: '' };

/**
 * Returns the previous value, for a reconcile that has no new value. A problem in Kubernetes objects is solved when
 * such a reconcile ends, so it is not repeated.
 */
export function unchangedValue({ object }: CompletedReconcile, type: ConditionType): ConditionContent {
  const before = conditionOf(object.status?.conditions, type);
  return before === undefined || isKubernetesReason(before.reason)
    ? unknownFor('NotChecked')
    : { status: before.status, reason: before.reason ?? 'NotChecked', message: before.message ?? '' };
}
