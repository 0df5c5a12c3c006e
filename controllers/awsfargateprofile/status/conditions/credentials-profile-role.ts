import { isDeleting } from '../../../shared/object-state.ts';
import { ownershipOf } from '../../model/ownership.ts';
import { isEntryOf } from '../../note.ts';
import { isAbout } from '../../model/mutation.ts';
import type { Change } from '../../model/plan.ts';
import type { CompletedPass } from '../../model/pass.ts';
import { type AffectedConditionType, type Reason, messageOf, conditionTypeOf } from '../../reasons/reasons.ts';
import { type ConditionContent, DELETING, falseFor, trueFor, unchangedValue, unknownFor } from './condition-content.ts';
import { effectOnReady } from './ready.ts';
import { noticeAfter } from './stalled.ts';
import { profileAfter } from '../facts-after.ts';

const WAITING_FOR_ROLE: ConditionContent = {
  status: 'False',
  reason: 'WaitingForRole',
  message: 'The pod execution role is not ready: see condition IAMFargateRolesReady',
};

export function contentsOfAffectedConditions(
  pass: CompletedPass,
  reason: Reason | undefined,
): readonly (readonly [AffectedConditionType, ConditionContent])[] {
  return [
    ['CredentialsReady', contentOf(pass, reason, 'CredentialsReady', credentialsValue)],
    ['EKSFargateProfileReady', contentOf(pass, reason, 'EKSFargateProfileReady', profileValue)],
    ['IAMFargateRolesReady', contentOf(pass, reason, 'IAMFargateRolesReady', roleValue)],
  ];
}

/** A condition that `reason` does not concern shows the observed state of AWS. */
function contentOf(
  pass: CompletedPass,
  reason: Reason | undefined,
  type: AffectedConditionType,
  observedValue: (pass: CompletedPass, reason: Reason | undefined) => ConditionContent,
): ConditionContent {
  if (reason === undefined) return observedValue(pass, reason);
  const effect = effectOnReady(pass, reason);
  if (effect === 'kept') return unchangedValue(pass, type);
  if (conditionTypeOf(reason) !== type) return observedValue(pass, reason);
  return effect === 'lost' ? unknownFor(reason.name, messageOf(reason, pass.waited)) : falseFor(reason, pass);
}

function credentialsValue(pass: CompletedPass): ConditionContent {
  return pass.facts === undefined && pass.isAuthenticated !== true
    ? unchangedValue(pass, 'CredentialsReady')
    : trueFor('Authenticated');
}

function roleValue(pass: CompletedPass, reason: Reason | undefined): ConditionContent {
  const { facts, object } = pass;
  if (facts?.desired.wanted === undefined)
    return isDeleting(object) ? DELETING : unchangedValue(pass, 'IAMFargateRolesReady');
  if (facts.plan.role === 'notRead') return unchangedValue(pass, 'IAMFargateRolesReady');
  if (isInOrderAfter(pass, 'role')) return trueFor('Ready');
  const notice = noticeAfter(pass);
  if (notice !== undefined && conditionTypeOf(notice) === 'IAMFargateRolesReady') return falseFor(notice, pass);
  return reason === undefined || conditionTypeOf(reason) !== undefined
    ? unknownFor('NotChecked')
    : falseFor(reason, pass);
}

function profileValue(pass: CompletedPass, reason: Reason | undefined): ConditionContent {
  const { facts, object } = pass;
  if (facts?.desired.wanted === undefined)
    return isDeleting(object) ? DELETING : unchangedValue(pass, 'EKSFargateProfileReady');
  if (facts.plan.role === 'notRead') return unchangedValue(pass, 'EKSFargateProfileReady');
  if (isInOrderAfter(pass, 'profile')) return trueFor('Active');
  if (reason === undefined) return unknownFor('NotChecked');
  return conditionTypeOf(reason) === 'IAMFargateRolesReady' ? WAITING_FOR_ROLE : falseFor(reason, pass);
}

/** Whether some profile of the object is ACTIVE, as the spec asks for or not. Its tags or the note prove that it is one. */
export function availableValue(pass: CompletedPass): ConditionContent {
  const { facts, execution } = pass;
  if (facts === undefined) return unchangedValue(pass, 'Available');
  const { desired, observed } = facts;
  const active = observed.profiles.flatMap((found) => {
    const isOfObject = ownershipOf(desired, found).kind === 'ours' || isEntryOf(desired.note.profiles, found);
    return isOfObject && profileAfter(found, found.name, execution?.steps)?.status === 'ACTIVE'
      ? [`"${found.name}"`]
      : [];
  });
  return active.length > 0
    ? trueFor('Active', `ACTIVE in EKS: ${active.toSorted().join(', ')}`)
    : { status: 'False', reason: 'NoActiveProfile', message: 'EKS has no ACTIVE Fargate profile of this object' };
}

function isInOrderAfter({ end, facts, execution }: CompletedPass, what: 'profile' | 'role'): boolean {
  if (facts === undefined) return false;
  const health = facts.plan[what];
  const planned = facts.plan.changes.filter(({ mutation }) => isAbout(mutation) === what);
  const isMade = ({ mutation }: Change): boolean =>
    execution?.steps.some((step) => step.mutation === mutation && step.outcome.kind === 'done') === true;
  // A role works without a boundary that only the operator's flags require, but it is not in order.
  if (planned.some((each) => each.mutation.kind === 'setBoundary' && !isMade(each))) return false;
  if (end === 'inOrder' || health === 'inOrder' || health === 'works') return true;
  return what === 'role' && planned.length > 0 && planned.every(isMade);
}
