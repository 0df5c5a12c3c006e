import { type ConditionUpdate, conditionOf } from './condition-list.ts';
import { type CompletedPass, noticesOf } from '../../model/pass.ts';
import { type Nature, type Reason, messageOf, natureOf, patienceFor } from '../../reasons/reasons.ts';
import { ATTEMPTS_UNTIL_STALLED } from '../../reasons/spec/time-until-stalled.ts';

/**
 * The nature as conditions show it: `retry` becomes `human` after many attempts, or after the `patience` of the reason,
 * for which `human` too is shown as `retry`.
 */
export function reportedNature(reason: Reason, { attempts, waited }: CompletedPass): Nature {
  const nature = natureOf(reason);
  if (nature !== 'retry' && nature !== 'human') return nature;
  const patience = patienceFor(reason);
  const isInVain =
    patience === undefined ? nature === 'human' || attempts >= ATTEMPTS_UNTIL_STALLED : waited >= patience;
  return isInVain ? 'human' : 'retry';
}

/** After many failures of a profile, the message of the failure stays while the controller retries once more. */
export function stalledUpdate(pass: CompletedPass, nature: Nature | undefined): ConditionUpdate | undefined {
  const { object, end, attempts, waited } = pass;
  const observedGeneration = object.metadata.generation ?? 0;
  const shown = end === 'inOrder' ? noticeAfter(pass) : nature === 'human' ? end : undefined;
  if (shown !== undefined) {
    const message = messageOf(shown, waited);
    return { type: 'Stalled', status: 'True', observedGeneration, reason: shown.name, message };
  }
  const before = conditionOf(object.status?.conditions, 'Stalled');
  const isWaiting = nature === 'wait' || end === 'inOrder';
  const isRetried = isWaiting && attempts >= ATTEMPTS_UNTIL_STALLED && before?.status === 'True';
  return isRetried ? { ...before, type: 'Stalled', status: 'True', observedGeneration } : undefined;
}

/** A problem that is reported although AWS matches the spec, and that only a user can end. */
export const noticeAfter = (pass: CompletedPass): Reason | undefined =>
  pass.end === 'inOrder' ? noticesOf(pass).find((notice) => isForUser(notice, pass)) : undefined;

/** A user is told of a refused change at once, and of a predecessor that EKS fails to delete after some attempts. */
const isForUser = (notice: Reason, { attempts }: CompletedPass): boolean =>
  natureOf(notice) === 'human' || (notice.name === 'DeleteFailed' && attempts >= ATTEMPTS_UNTIL_STALLED);
