import { type ConditionUpdate, conditionOf } from './condition-list.ts';
import { type CompletedPass, noticesOf } from '../../model/pass.ts';
import { type Nature, type Reason, messageOf, natureOf, patienceFor } from '../../reasons/reasons.ts';
import { ATTEMPTS_UNTIL_STALLED } from '../../reasons/spec/time-until-stalled.ts';

/**
 * Returns the nature of a reason (who can end the problem) as the conditions show it. A reason of nature `retry` is
 * shown as `human` after many failed attempts: `Stalled` becomes True, although the controller continues to retry. If a
 * reason of nature `retry` or `human` has a `patience`, only this time counts: the reason is first shown as `retry`,
 * and as `human` when the time is over.
 */
export function reportedNature(reason: Reason, { attempts, waited }: CompletedPass): Nature {
  const nature = natureOf(reason);
  if (nature !== 'retry' && nature !== 'human') return nature;
  const patience = patienceFor(reason);
  const isInVain =
    patience === undefined ? nature === 'human' || attempts >= ATTEMPTS_UNTIL_STALLED : waited >= patience;
  return isInVain ? 'human' : 'retry';
}

/**
 * Returns the `Stalled` condition if it is True; otherwise `undefined`. After many failures of a Fargate profile, the
 * condition keeps the message of the failure while the controller retries once more.
 */
export function stalledUpdate(pass: CompletedPass, nature: Nature | undefined): ConditionUpdate | undefined {
  const { object, end, attempts, waited } = pass;
  const observedGeneration = object.metadata.generation ?? 0;
  const shown = end === 'inOrder' ? noticeAfter(pass) : nature === 'human' ? end : undefined;
  if (shown !== undefined) {
    const message = messageOf(shown, waited);
    return { type: 'Stalled', status: 'True', observedGeneration, reason: shown.name, message };
  }
  const before = conditionOf(object.status?.conditions, 'Stalled');
  const isRetried = nature === 'wait' && attempts >= ATTEMPTS_UNTIL_STALLED && before?.status === 'True';
  return isRetried ? { ...before, type: 'Stalled', status: 'True', observedGeneration } : undefined;
}

/**
 * Returns the problem that a reconcile reports although AWS matches the spec. `undefined` if there is no such problem,
 * or if the problem ends without an action of a user.
 */
export const noticeAfter = (pass: CompletedPass): Reason | undefined =>
  pass.end === 'inOrder' ? noticesOf(pass).find((notice) => natureOf(notice) === 'human') : undefined;
