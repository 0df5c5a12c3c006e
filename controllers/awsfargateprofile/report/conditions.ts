import type { Ms } from 'controller-runtime/env';
import type { Condition } from '../../../api/v1beta2/index.ts';
import { joinSentences } from '../../shared/message.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { type ConditionType, type ConditionUpdate, conditionOf, conditionUpdate } from './condition-list.ts';
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

export function conditionsAfter(reconcile: CompletedReconcile): readonly ConditionUpdate[] {
  const { object } = reconcile;
  const reason = reasonOf(reconcile);
  const nature = reason && reportedNature(reason, reconcile);
  const detail = reason === undefined ? '' : messageOf(reason, reconcile.waited);
  const stalled = stalledUpdate(reconcile, nature);
  const ready = readyValue(reconcile, reason, stalled !== undefined);
  // In an outage, an object that was Ready at this generation has Ready True or Unknown, and is not Reconciling.
  const isUnderWay = nature === 'wait' || nature === 'retry' || (nature === 'outage' && ready.status === 'False');

  const available = availableValue(reconcile);

  return [
    conditionUpdate(object, 'Ready', ready.status, ready.reason, ready.message),
    conditionUpdate(object, 'Available', available.status, available.reason, available.message),
    ...contentsOfAffectedConditions(reconcile, reason).map(([type, part]) =>
      conditionUpdate(object, type, part.status, part.reason, part.message),
    ),
    isUnderWay && stalled === undefined
      ? conditionUpdate(object, 'Reconciling', 'True', reason?.name ?? 'Reconciling', detail)
      : conditionUpdate(object, 'Reconciling', 'False', stalled === undefined ? 'Idle' : 'Stalled'),
    stalled ?? conditionUpdate(object, 'Stalled', 'False', 'NotStalled'),
    isDeleting(object)
      ? conditionUpdate(object, 'Deleting', 'True', reason?.name ?? 'Deleting', detail)
      : conditionUpdate(object, 'Deleting', 'False', 'NotDeleting'),
    conditionUpdate(object, 'Paused', 'False', 'NotPaused'),
  ];
}

/** How long `Ready` stays True while AWS or the API server cannot be read. */
const OUTAGE_TOLERANCE: Ms = 15 * 60_000;

const ACTIVE_ONLY = 'The Fargate profile is ACTIVE';
const IN_SYNC = `${ACTIVE_ONLY} and matches the spec`;
const READY_WITH_NOTICE = `${ACTIVE_ONLY}, but condition Stalled shows a problem`;

function readyValue(reconcile: CompletedReconcile, reason: Reason | undefined, isStalled: boolean): ConditionContent {
  if (isDeleting(reconcile.object))
    return { ...DELETING, message: reason === undefined ? '' : messageOf(reason, reconcile.waited) };
  if (reason === undefined) {
    const replacement = noticesOf(reconcile).find(isOfReplacement);
    const summary =
      replacement !== undefined ? describeReplacement(reconcile, replacement) : isStalled ? READY_WITH_NOTICE : IN_SYNC;
    const advice = adviceAfter(reconcile).map(({ message }) => message);
    return trueFor(replacement?.name ?? 'Ready', joinSentences([summary, ...advice]));
  }
  switch (effectOnReady(reconcile, reason)) {
    case 'kept':
      return keptReady(reconcile, isStalled);
    case 'lost':
      return unknownFor(reason.name, messageOf(reason, reconcile.waited));
    case 'none':
      return falseFor(reason, reconcile);
  }
}

/**
 * Changes the message only if a problem begins or ceases to be shown in `Stalled`. In an outage, `Stalled` no longer shows
 * an earlier problem, although the problem may still exist. The message about a replacement never mentions `Stalled`.
 */
function keptReady(reconcile: CompletedReconcile, isStalled: boolean): ConditionContent {
  const { object, announced } = reconcile;
  const before = unchangedValue(reconcile, 'Ready');
  const wasStalled = conditionOf(object.status?.conditions, 'Stalled')?.status === 'True';
  if (isStalled === wasStalled || before.reason !== 'Ready') return before;
  // A plan that ends with a problem has no advice, so the message keeps the advice of the last report.
  const advice = announced?.advice ?? [];
  return { ...before, message: joinSentences([isStalled ? READY_WITH_NOTICE : ACTIVE_ONLY, ...advice]) };
}

function describeReplacement(reconcile: CompletedReconcile, replacement: Reason): string {
  const others = noticesOf(reconcile).filter((notice) => notice !== replacement);
  return joinSentences([replacement, ...others].map((notice) => messageOf(notice, reconcile.waited)));
}

/**
 * Returns the effect on an object that was Ready. `kept`: `Ready` stays as it is, in an outage only for a while.
 * `lost`: that time is over, and `Ready` becomes Unknown. `none`: `Ready` is False, or the object was not Ready.
 */
function effectOnReady(reconcile: CompletedReconcile, reason: Reason): 'kept' | 'lost' | 'none' {
  const { object, facts, waited } = reconcile;
  const isOfThisSpec = object.status?.observedGeneration === object.metadata.generation;
  const isReady = conditionOf(object.status?.conditions, 'Ready')?.status === 'True';
  const isUnread = facts === undefined && mayStopBeforeAwsRead(reason);
  if (keepsReady(reason) && !isUnread)
    return isReady && isOfThisSpec && !isDeleting(object) && !isSeenBroken(reconcile) ? 'kept' : 'none';
  const isOutage = natureOf(reason) === 'outage' && !isProfileSeenLost(reconcile);
  const isUnobserved = isOutage || isUnread;
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

/** Whether this reconcile has seen that the profile does not work, even if a later call to AWS got no answer. */
const isProfileSeenLost = ({ facts }: CompletedReconcile): boolean =>
  facts?.desired.profile !== undefined && facts.plan.profile === 'broken';

const WAITING_FOR_ROLE: ConditionContent = {
  status: 'False',
  reason: 'WaitingForRole',
  message: 'The pod execution role is not ready: see condition IAMFargateRolesReady',
};

function contentsOfAffectedConditions(
  reconcile: CompletedReconcile,
  reason: Reason | undefined,
): readonly (readonly [AffectedConditionType, ConditionContent])[] {
  return [
    ['CredentialsReady', contentOf(reconcile, reason, 'CredentialsReady', credentialsValue)],
    ['EKSFargateProfileReady', contentOf(reconcile, reason, 'EKSFargateProfileReady', profileValue)],
    ['IAMFargateRolesReady', contentOf(reconcile, reason, 'IAMFargateRolesReady', roleValue)],
  ];
}

/** If `reason` does not concern this condition, shows the observed state of AWS. */
function contentOf(
  reconcile: CompletedReconcile,
  reason: Reason | undefined,
  type: AffectedConditionType,
  observedValue: (reconcile: CompletedReconcile, reason: Reason | undefined) => ConditionContent,
): ConditionContent {
  if (reason === undefined) return observedValue(reconcile, reason);
  const effect = effectOnReady(reconcile, reason);
  if (effect === 'kept') return unchangedValue(reconcile, type);
  if (conditionTypeOf(reason) !== type) return observedValue(reconcile, reason);
  return effect === 'lost' ? unknownFor(reason.name, messageOf(reason, reconcile.waited)) : falseFor(reason, reconcile);
}

function credentialsValue(reconcile: CompletedReconcile): ConditionContent {
  return reconcile.facts === undefined && reconcile.isAuthenticated !== true
    ? unchangedValue(reconcile, 'CredentialsReady')
    : trueFor('Authenticated');
}

function roleValue(reconcile: CompletedReconcile, reason: Reason | undefined): ConditionContent {
  const { facts, object } = reconcile;
  if (facts?.desired.profile === undefined)
    return isDeleting(object) ? DELETING : unchangedValue(reconcile, 'IAMFargateRolesReady');
  if (facts.plan.role === 'notRead') return unchangedValue(reconcile, 'IAMFargateRolesReady');
  if (isInSyncAfter(reconcile, 'role')) return trueFor('Ready');
  const notice = noticesForUser(reconcile).find((each) => conditionTypeOf(each) === 'IAMFargateRolesReady');
  if (notice !== undefined) return falseFor(notice, reconcile);
  return reason === undefined || conditionTypeOf(reason) !== undefined
    ? unknownFor('NotChecked')
    : falseFor(reason, reconcile);
}

function profileValue(reconcile: CompletedReconcile, reason: Reason | undefined): ConditionContent {
  const { facts, object } = reconcile;
  if (facts?.desired.profile === undefined)
    return isDeleting(object) ? DELETING : unchangedValue(reconcile, 'EKSFargateProfileReady');
  if (facts.plan.role === 'notRead') return unchangedValue(reconcile, 'EKSFargateProfileReady');
  if (isInSyncAfter(reconcile, 'profile')) return trueFor('Active');
  if (reason === undefined) return unknownFor('NotChecked');
  return conditionTypeOf(reason) === 'IAMFargateRolesReady' ? WAITING_FOR_ROLE : falseFor(reason, reconcile);
}

/**
 * True if at least one of the object's profiles is ACTIVE, even if it differs from the spec. The profile's tags or the
 * object's record must prove that the profile belongs to the object.
 */
function availableValue(reconcile: CompletedReconcile): ConditionContent {
  const { facts } = reconcile;
  if (facts === undefined) return unchangedValue(reconcile, 'Available');
  const { plan, after } = facts;
  const isOwn = (name: string): boolean => plan.profiles.some((own) => own.name === name && own.isProven);
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
  // A role works without a boundary that only the operator's flags require, but it does not match the spec.
  if (planned.some((each) => each.mutation.kind === 'setBoundary' && !isMade(each))) return false;
  if (end === 'inSync' || health === 'works') return true;
  return what === 'role' && planned.length > 0 && planned.every(isMade);
}

/**
 * A reason with a patience counts as `retry` until the patience is over, and then as `human`. Any other `retry` reason
 * counts as `human` after some attempts.
 */
function reportedNature(reason: Reason, { attempts, waited }: CompletedReconcile): Nature {
  const nature = natureOf(reason);
  if (nature !== 'retry' && nature !== 'human') return nature;
  const patience = patienceFor(reason);
  const isInVain =
    patience === undefined ? nature === 'human' || attempts >= ATTEMPTS_UNTIL_STALLED : waited >= patience;
  return isInVain ? 'human' : 'retry';
}

/**
 * Returns the condition Stalled if it is True. After many failures of a profile, the condition keeps the failure's
 * message while the controller retries once more.
 */
function stalledUpdate(reconcile: CompletedReconcile, nature: Nature | undefined): ConditionUpdate | undefined {
  const { object, attempts, waited } = reconcile;
  const reason = reasonOf(reconcile);
  const shown = reason === undefined ? noticesForUser(reconcile) : nature === 'human' ? [reason] : [];
  const [first] = shown;
  const messages = shown.map((each) => messageOf(each, waited));
  if (first !== undefined) return conditionUpdate(object, 'Stalled', 'True', first.name, joinSentences(messages));
  const before = conditionOf(object.status?.conditions, 'Stalled');
  const isWaiting = nature === 'wait' || reason === undefined;
  const isRetried = isWaiting && attempts >= ATTEMPTS_UNTIL_STALLED && before?.status === 'True';
  const observedGeneration = object.metadata.generation ?? 0;
  return isRetried ? { ...before, type: 'Stalled', status: 'True', observedGeneration } : undefined;
}

/** Returns the problems that only a user can solve although the profile is usable. */
const noticesForUser = (reconcile: CompletedReconcile): readonly Reason[] =>
  reconcile.end === 'inSync' ? noticesOf(reconcile).filter((notice) => isForUser(notice, reconcile)) : [];

/** A refused change is reported immediately, but other failures only after some attempts or some time. */
const isForUser = (notice: Reason, reconcile: CompletedReconcile): boolean =>
  natureOf(notice) === 'human' || reportedNature(notice, reconcile) === 'human';

export const adviceAfter = ({ end, facts }: CompletedReconcile): readonly Advice[] =>
  end === 'inSync' && facts !== undefined ? facts.plan.advice : [];

interface ConditionContent {
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

const trueFor = (reason: string, message = ''): ConditionContent => ({ status: 'True', reason, message });
const falseFor = (reason: Reason, { waited }: CompletedReconcile): ConditionContent => ({
  status: 'False',
  reason: reason.name,
  message: messageOf(reason, waited),
});
const unknownFor = (reason: string, message = ''): ConditionContent => ({ status: 'Unknown', reason, message });
export const DELETING: ConditionContent = { status: 'False', reason: 'Deleting', message: '' };

/**
 * Returns the condition's previous content, for a reconcile that did not check it. Does not repeat a problem in
 * Kubernetes objects, because it is solved if the reconcile did not stop at it.
 */
function unchangedValue({ object }: CompletedReconcile, type: ConditionType): ConditionContent {
  const before = conditionOf(object.status?.conditions, type);
  return before === undefined || isKubernetesReason(before.reason)
    ? unknownFor('NotChecked')
    : { status: before.status, reason: before.reason ?? 'NotChecked', message: before.message ?? '' };
}
