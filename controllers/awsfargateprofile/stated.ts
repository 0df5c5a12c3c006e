import type { Condition } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import { isDeleting } from '../standing.ts';
import type { ConditionType, Stated } from './conditions.ts';
import { conditionOf } from './conditions.ts';
import { isProfileEstablished, isRoleEstablished } from './decide.ts';
import type { Pass } from './pass.ts';
import type { Nature, Part, Why } from './reasons.ts';
import { PATIENCE, isToldByKubernetes, mayHideAws, messageOf, natureOf, partOf, patienceOf } from './reasons.ts';

/** For so long a profile that was Ready is believed to be so while what says so cannot be asked. */
const OUTAGE_BELIEVED: Ms = 15 * 60_000;

/** What the conditions say after a pass, in full; they are merged with what they said before. */
export function statedBy(pass: Pass): readonly Stated[] {
  const { object, end } = pass;
  const observedGeneration = object.metadata.generation ?? 0;
  const state = (type: ConditionType, status: Condition['status'], reason: string, message = ''): Stated => ({
    type,
    status,
    observedGeneration,
    reason,
    message,
  });
  const why = end.kind === 'stopped' ? end.why : undefined;
  const nature = why && shownNature(why, pass);
  const words = why === undefined ? '' : messageOf(why, pass.waited);
  const ready = readyOf(pass, why);
  const stalled = stalledBy(pass, nature);
  // What was Ready needs nothing done, as far as anybody knows; what never was is still on its way.
  const isUnderWay = nature === 'wait' || nature === 'retry' || (nature === 'outage' && ready.status === 'False');

  return [
    state('Ready', ready.status, ready.reason, ready.message),
    ...partsOf(pass, why).map(([type, part]) => state(type, part.status, part.reason, part.message)),
    isUnderWay && stalled === undefined
      ? state('Reconciling', 'True', why?.reason ?? 'Reconciling', words)
      : state('Reconciling', 'False', stalled === undefined ? 'Idle' : 'Stalled'),
    stalled ?? state('Stalled', 'False', 'NotStalled'),
    isDeleting(object)
      ? state('Deleting', 'True', why?.reason ?? 'Deleting', words)
      : state('Deleting', 'False', 'NotDeleting'),
    state('Paused', 'False', 'NotPaused'),
  ];
}

/** What is retried for long without success needs somebody to look at it, though it goes on being retried. */
function shownNature(why: Why, { attempts, waited }: Pass): Nature {
  const nature = natureOf(why);
  const patience = patienceOf(why);
  const isInVain = patience === undefined ? attempts >= PATIENCE : waited >= patience;
  return nature === 'retry' && isInVain ? 'human' : nature;
}

/** While a profile that failed often is made or deleted once more, what is wrong with it stays said. */
function stalledBy({ object, end, attempts, waited }: Pass, nature: Nature | undefined): Stated | undefined {
  const observedGeneration = object.metadata.generation ?? 0;
  if (end.kind === 'stopped' && nature === 'human') {
    const { reason } = end.why;
    return { type: 'Stalled', status: 'True', observedGeneration, reason, message: messageOf(end.why, waited) };
  }
  const before = conditionOf(object.status?.conditions, 'Stalled');
  const isTriedAgain = nature === 'wait' && attempts >= PATIENCE && before?.status === 'True';
  return isTriedAgain ? { ...before, type: 'Stalled', status: 'True', observedGeneration } : undefined;
}

interface Standing {
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

const good = (reason: string, message = ''): Standing => ({ status: 'True', reason, message });
const bad = (why: Why, { waited }: Pass): Standing => ({
  status: 'False',
  reason: why.reason,
  message: messageOf(why, waited),
});
const unknown = (reason: string, message = ''): Standing => ({ status: 'Unknown', reason, message });
const DELETING: Standing = { status: 'False', reason: 'Deleting', message: '' };
const WAITING_FOR_ROLE: Standing = {
  status: 'False',
  reason: 'WaitingForRole',
  message: 'The pod execution role is not ready',
};

function readyOf(pass: Pass, why: Why | undefined): Standing {
  if (isDeleting(pass.object)) return { ...DELETING, message: why === undefined ? '' : messageOf(why, pass.waited) };
  if (why === undefined) return good('Ready', 'The Fargate profile is ACTIVE as the spec wants it');
  switch (beliefIn(pass, why)) {
    case 'kept':
      return asBefore(pass, 'Ready');
    case 'lost':
      return unknown(why.reason, messageOf(why, pass.waited));
    case 'none':
      return bad(why, pass);
  }
}

/** Whether what was Ready is still believed to be so, where it cannot be looked at. Once lost, only a look restores it. */
function beliefIn({ object, observed, waited }: Pass, why: Why): 'kept' | 'lost' | 'none' {
  const isOfThisSpec = object.status?.observedGeneration === object.metadata.generation;
  const isUnseen = natureOf(why) === 'outage' || (mayHideAws(why) && observed === undefined);
  if (!isUnseen || !isOfThisSpec || isDeleting(object)) return 'none';
  switch (conditionOf(object.status?.conditions, 'Ready')?.status) {
    case 'True':
      return waited < OUTAGE_BELIEVED ? 'kept' : 'lost';
    case 'Unknown':
      return 'lost';
    default:
      return 'none';
  }
}

function partsOf(pass: Pass, why: Why | undefined): readonly (readonly [Part, Standing])[] {
  return [
    ['CredentialsReady', partOfPass(pass, why, 'CredentialsReady', credentialsStanding)],
    ['EKSFargateProfileReady', partOfPass(pass, why, 'EKSFargateProfileReady', profileStanding)],
    ['IAMFargateRolesReady', partOfPass(pass, why, 'IAMFargateRolesReady', roleStanding)],
  ];
}

/** The part that a reason is about says it; the others say what was found of them. */
function partOfPass(
  pass: Pass,
  why: Why | undefined,
  part: Part,
  otherwise: (pass: Pass, why: Why | undefined) => Standing,
): Standing {
  if (why === undefined) return otherwise(pass, why);
  const belief = beliefIn(pass, why);
  if (belief === 'kept') return asBefore(pass, part);
  if (partOf(why) !== part) return otherwise(pass, why);
  return belief === 'lost' ? unknown(why.reason, messageOf(why, pass.waited)) : bad(why, pass);
}

function credentialsStanding(pass: Pass): Standing {
  return pass.desired === undefined ? asBefore(pass, 'CredentialsReady') : good('Authenticated');
}

function roleStanding(pass: Pass, why: Why | undefined): Standing {
  const { desired, observed, object } = pass;
  if (desired?.wanted === undefined && isDeleting(object)) return DELETING;
  if (desired?.wanted === undefined || observed?.roles === undefined) return asBefore(pass, 'IAMFargateRolesReady');
  if (isRoleEstablished(desired, { ...observed, roles: observed.roles })) return good('Ready');
  return why === undefined || partOf(why) !== undefined ? unknown('NotChecked') : bad(why, pass);
}

function profileStanding(pass: Pass, why: Why | undefined): Standing {
  const { desired, observed, object } = pass;
  if (desired?.wanted === undefined && isDeleting(object)) return DELETING;
  if (desired?.wanted === undefined || observed?.roles === undefined) return asBefore(pass, 'EKSFargateProfileReady');
  if (isProfileEstablished(desired, { ...observed, roles: observed.roles })) return good('Active');
  if (why === undefined) return unknown('NotChecked');
  return partOf(why) === 'IAMFargateRolesReady' ? WAITING_FOR_ROLE : bad(why, pass);
}

/** AWS was not asked about it: what it said last still stands, but not what the object waited for on the way to AWS. */
function asBefore({ object }: Pass, type: ConditionType): Standing {
  const before = conditionOf(object.status?.conditions, type);
  return before === undefined || isToldByKubernetes(before.reason)
    ? unknown('NotChecked')
    : { status: before.status, reason: before.reason ?? 'NotChecked', message: before.message ?? '' };
}
