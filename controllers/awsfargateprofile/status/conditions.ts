import type { Condition } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { isDeleting } from '../../shared/object-state.ts';
import type { ConditionType, ConditionUpdate } from './condition-list.ts';
import { conditionOf } from './condition-list.ts';
import { describeHealthIssues } from './health.ts';
import { findProfile } from '../decide/compare.ts';
import { isInOrderButForTags, isProfileInOrder, isRoleInOrder } from '../decide/decide.ts';
import type { CompletedPass } from '../model/pass.ts';
import type { Nature, ConditionPart, Reason } from '../reasons/reasons.ts';
import {
  isKubernetesReason,
  keepsReady,
  mayHideAws,
  messageOf,
  natureOf,
  partOf,
  patienceFor,
} from '../reasons/reasons.ts';

/** How long `Ready` stays True while AWS or the API server cannot be read. */
const OUTAGE_TOLERANCE: Ms = 15 * 60_000;

/** The number of failed attempts after which `Stalled` becomes True. The controller continues to retry. */
export const MAX_QUIET_RETRIES = 5;

/** Returns all conditions that this controller sets after a reconcile. */
export function conditionsAfter(pass: CompletedPass): readonly ConditionUpdate[] {
  const { object, end } = pass;
  const observedGeneration = object.metadata.generation ?? 0;
  const state = (type: ConditionType, status: Condition['status'], reason: string, message = ''): ConditionUpdate => ({
    type,
    status,
    observedGeneration,
    reason,
    message,
  });
  const reason = end.kind === 'stopped' ? end.reason : undefined;
  const nature = reason && reportedNature(reason, pass);
  const detail = reason === undefined ? '' : messageOf(reason, pass.waited);
  const ready = readyValue(pass, reason);
  const stalled = stalledUpdate(pass, nature);
  // While AWS or the API server cannot be read, the Reconciling condition is False for an object that was Ready, and
  // True for an object that never was Ready.
  const isUnderWay = nature === 'wait' || nature === 'retry' || (nature === 'outage' && ready.status === 'False');

  return [
    state('Ready', ready.status, ready.reason, ready.message),
    ...partValues(pass, reason).map(([type, part]) => state(type, part.status, part.reason, part.message)),
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

/**
 * Returns the nature of a reason as conditions show it. A retry that has failed for a long time is shown as `human`, so
 * that `Stalled` becomes True, although the controller continues to retry. A reason of nature `human` may have a
 * `patience`: until this time is over, it is shown as `retry`.
 */
function reportedNature(reason: Reason, { attempts, waited }: CompletedPass): Nature {
  const nature = natureOf(reason);
  if (nature !== 'retry' && nature !== 'human') return nature;
  const patience = patienceFor(reason);
  const isInVain = patience === undefined ? nature === 'human' || attempts >= MAX_QUIET_RETRIES : waited >= patience;
  return isInVain ? 'human' : 'retry';
}

/**
 * Returns the `Stalled` condition if it is True; otherwise `undefined`. While a Fargate profile that has failed often
 * is retried once more, the condition keeps the message of the failure.
 */
function stalledUpdate(pass: CompletedPass, nature: Nature | undefined): ConditionUpdate | undefined {
  const { object, end, attempts, waited } = pass;
  const observedGeneration = object.metadata.generation ?? 0;
  const shown = end.kind === 'settled' ? noticeAfter(pass) : nature === 'human' ? end.reason : undefined;
  if (shown !== undefined) {
    const message = messageOf(shown, waited);
    return { type: 'Stalled', status: 'True', observedGeneration, reason: shown.name, message };
  }
  const before = conditionOf(object.status?.conditions, 'Stalled');
  const isRetried = nature === 'wait' && attempts >= MAX_QUIET_RETRIES && before?.status === 'True';
  return isRetried ? { ...before, type: 'Stalled', status: 'True', observedGeneration } : undefined;
}

/**
 * Returns the problem that a reconcile reports although AWS is as the spec asks for, if only a user can solve the
 * problem.
 */
function noticeAfter({ end }: CompletedPass): Reason | undefined {
  const notice = end.kind === 'settled' ? end.notice : undefined;
  return notice !== undefined && natureOf(notice) === 'human' ? notice : undefined;
}

interface ConditionValue {
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

const trueFor = (reason: string, message = ''): ConditionValue => ({ status: 'True', reason, message });
const falseFor = (reason: Reason, { waited }: CompletedPass): ConditionValue => ({
  status: 'False',
  reason: reason.name,
  message: messageOf(reason, waited),
});
const unknownFor = (reason: string, message = ''): ConditionValue => ({ status: 'Unknown', reason, message });
const READY_WITH_NOTICE = 'The Fargate profile is ACTIVE, but condition Stalled shows a problem';
const DELETING: ConditionValue = { status: 'False', reason: 'Deleting', message: '' };
const WAITING_FOR_ROLE: ConditionValue = {
  status: 'False',
  reason: 'WaitingForRole',
  message: 'The pod execution role is not ready: see condition IAMFargateRolesReady',
};

function readyValue(pass: CompletedPass, reason: Reason | undefined): ConditionValue {
  if (isDeleting(pass.object))
    return { ...DELETING, message: reason === undefined ? '' : messageOf(reason, pass.waited) };
  if (reason === undefined) {
    const summary =
      noticeAfter(pass) !== undefined ? READY_WITH_NOTICE : 'The Fargate profile is ACTIVE and matches the spec';
    const issues = describeHealthIssues(pass);
    return trueFor('Ready', issues === undefined ? summary : `${summary}. ${issues}`);
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
function effectOnReady(pass: CompletedPass, reason: Reason): 'kept' | 'lost' | 'none' {
  const { object, observed, waited } = pass;
  const isOfThisSpec = object.status?.observedGeneration === object.metadata.generation;
  const wasReady = conditionOf(object.status?.conditions, 'Ready')?.status === 'True';
  if (keepsReady(reason)) {
    return wasReady && isOfThisSpec && !isDeleting(object) && !isSeenBroken(pass) ? 'kept' : 'none';
  }
  const isOutage = natureOf(reason) === 'outage' && !isProfileSeenLost(pass);
  const isUnobserved = isOutage || (mayHideAws(reason) && observed === undefined);
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
  (observed.roles === undefined || !isInOrderButForTags(desired, { ...observed, roles: observed.roles }));

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

function partValues(
  pass: CompletedPass,
  reason: Reason | undefined,
): readonly (readonly [ConditionPart, ConditionValue])[] {
  return [
    ['CredentialsReady', partValue(pass, reason, 'CredentialsReady', credentialsValue)],
    ['EKSFargateProfileReady', partValue(pass, reason, 'EKSFargateProfileReady', profileValue)],
    ['IAMFargateRolesReady', partValue(pass, reason, 'IAMFargateRolesReady', roleValue)],
  ];
}

/**
 * Returns status, reason and message of the condition whose type is `part`. If the reconcile stopped for a reason that
 * makes this condition False, the condition shows that reason. Otherwise it shows the observed state of AWS.
 */
function partValue(
  pass: CompletedPass,
  reason: Reason | undefined,
  part: ConditionPart,
  observedValue: (pass: CompletedPass, reason: Reason | undefined) => ConditionValue,
): ConditionValue {
  if (reason === undefined) return observedValue(pass, reason);
  const effect = effectOnReady(pass, reason);
  if (effect === 'kept') return unchangedValue(pass, part);
  if (partOf(reason) !== part) return observedValue(pass, reason);
  return effect === 'lost' ? unknownFor(reason.name, messageOf(reason, pass.waited)) : falseFor(reason, pass);
}

function credentialsValue(pass: CompletedPass): ConditionValue {
  return pass.desired === undefined ? unchangedValue(pass, 'CredentialsReady') : trueFor('Authenticated');
}

function roleValue(pass: CompletedPass, reason: Reason | undefined): ConditionValue {
  const { desired, observed, object } = pass;
  if (desired?.wanted === undefined && isDeleting(object)) return DELETING;
  if (desired?.wanted === undefined || observed?.roles === undefined)
    return unchangedValue(pass, 'IAMFargateRolesReady');
  if (isRoleInOrder(desired, { ...observed, roles: observed.roles })) return trueFor('Ready');
  const notice = noticeAfter(pass);
  if (notice !== undefined && partOf(notice) === 'IAMFargateRolesReady') return falseFor(notice, pass);
  return reason === undefined || partOf(reason) !== undefined ? unknownFor('NotChecked') : falseFor(reason, pass);
}

function profileValue(pass: CompletedPass, reason: Reason | undefined): ConditionValue {
  const { desired, observed, object } = pass;
  if (desired?.wanted === undefined && isDeleting(object)) return DELETING;
  if (desired?.wanted === undefined || observed?.roles === undefined)
    return unchangedValue(pass, 'EKSFargateProfileReady');
  if (isProfileInOrder(desired, { ...observed, roles: observed.roles })) return trueFor('Active');
  if (reason === undefined) return unknownFor('NotChecked');
  return partOf(reason) === 'IAMFargateRolesReady' ? WAITING_FOR_ROLE : falseFor(reason, pass);
}

/**
 * Returns status, reason and message that the condition had before the reconcile. They are kept, because this reconcile
 * did not read AWS. Only a reason from Kubernetes objects alone is outdated, and becomes `NotChecked`.
 */
function unchangedValue({ object }: CompletedPass, type: ConditionType): ConditionValue {
  const before = conditionOf(object.status?.conditions, type);
  return before === undefined || isKubernetesReason(before.reason)
    ? unknownFor('NotChecked')
    : { status: before.status, reason: before.reason ?? 'NotChecked', message: before.message ?? '' };
}
