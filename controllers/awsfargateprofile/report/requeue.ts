import type { Requeue } from 'controller-runtime/controller';
import type { Clock, Ms, Random } from 'controller-runtime/env';
import type { QueuePriority } from 'controller-runtime/queue';
import { type Observed, findProfile } from '../model/observed-state.ts';
import { DELETING } from '../model/profile-status.ts';
import { type ReconcileResult, reasonOf } from '../model/result.ts';
import { type Reason, natureOf, pollOf } from '../reasons/reasons.ts';
import { CONFLICT, backOff } from '../../shared/requeue.ts';

export interface RequeueOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly resync: Ms;
}

/**
 * The fraction of the delay that is added at random, so that objects that were created together do not all resync
 * together. As in client-go, jitter only lengthens the delay, so that two one-second polls always cover a two-second
 * change.
 */
const JITTER = 0.1;

export interface Pending {
  /** How long the object has waited for the reason. */
  readonly waitedFor: (reason: Reason) => Ms;
  /** No reconcile would change what the reason is about before this time on the monotonic clock. */
  readonly notBeforeFor: (reason: Reason) => Ms | undefined;
  /** Whether EKS is changing one of the object's profiles. */
  readonly isTransit: boolean;
}

type Requeued = Pick<ReconcileResult, 'end' | 'execution' | 'facts'>;

/**
 * The next reconcile comes when the first of the pending reasons is due, so that a refused change with a long backoff
 * does not delay a drain.
 */
export function requeueAfter(result: Requeued, pending: Pending, options: RequeueOptions): Requeue {
  const reasons = pendingAfter(result);
  for (const reason of reasons) {
    if (reason.name === 'Conflict') return CONFLICT;
    if (reason.name === 'ReadAgain') return backOff(reason.facts.because);
  }
  const jitter = 1 + JITTER * options.random.next();
  const due = reasons.map((each) => ({ reason: each, delay: delayFor(each, jitter, pending, options) }));
  const [first] = due.toSorted((a, b) => a.delay - b.delay);
  if (first === undefined) return { kind: 'after', delay: options.resync * jitter, reason: 'resync', priority: 'low' };
  const { reason, delay } = first;
  const next = { kind: 'after', delay, reason: reason.name } as const;
  const { isTransit } = pending;
  const priority = reasonOf(result) === undefined ? (isTransit ? 'urgent' : 'low') : priorityAfter(reason, isTransit);
  return priority === undefined ? next : { ...next, priority };
}

/** Returns the reason why the reconcile ended or, if AWS matches the spec, everything for which the object waits. */
function pendingAfter(result: Requeued): readonly Reason[] {
  const reason = reasonOf(result);
  if (reason !== undefined) return [reason];
  const { execution, facts } = result;
  const planned = facts?.plan.notices.filter(
    (notice) => natureOf(notice) === 'wait' && !isStillToBegin(notice, facts.after),
  );
  return [...(execution?.notices ?? []), ...(planned ?? [])];
}

/** If the deletion of a predecessor has not begun, the object waits for what delays the deletion, such as a drain. */
const isStillToBegin = (reason: Reason, { profiles }: Observed): boolean =>
  reason.name === 'RemovingPredecessor' &&
  ![undefined, DELETING].includes(findProfile(profiles, reason.facts.predecessor)?.status);

function delayFor(
  reason: Reason,
  jitter: number,
  { waitedFor, notBeforeFor }: Pending,
  { clock, resync }: RequeueOptions,
): Ms {
  const now = clock.monotonic();
  const remaining = (notBeforeFor(reason) ?? now) - now;
  if (remaining > 0) return Math.min(remaining * jitter, resync);
  return Math.min(pollOf(reason, waitedFor(reason)), resync) * jitter;
}

/**
 * While EKS changes the object's profile, the next reconcile is urgent: other objects in the EKS cluster wait until a
 * reconcile sees the end of the change. Retries in an outage may continue for long, so they have a low priority, and
 * objects about which AWS was not asked yet come first.
 */
function priorityAfter(reason: Reason, isTransit: boolean): QueuePriority | undefined {
  if (natureOf(reason) !== 'outage') return isTransit ? 'urgent' : undefined;
  return isTransit ? undefined : 'low';
}
