import type { Requeue } from 'controller-runtime/controller';
import type { Clock, Ms, Random } from 'controller-runtime/env';
import type { QueuePriority } from 'controller-runtime/queue';
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

/** Returns the reason why the reconcile ended or, if AWS matches the spec, what the object still waits for. */
export const pendingAfter = (result: Pick<ReconcileResult, 'end' | 'execution' | 'facts'>): Reason | undefined =>
  reasonOf(result) ??
  result.execution?.notices[0] ??
  result.facts?.plan.notices.find((notice) => natureOf(notice) === 'wait');

export interface Pending {
  /** How long the object has waited for this reason. */
  readonly waited: Ms;
  /** No reconcile would change anything in AWS before this time on the monotonic clock. */
  readonly notBefore: Ms | undefined;
  /** Whether EKS is changing one of the object's profiles. */
  readonly isTransit: boolean;
}

export function requeueAfter(
  result: Pick<ReconcileResult, 'end' | 'execution' | 'facts'>,
  pending: Pending,
  options: RequeueOptions,
): Requeue {
  const reason = pendingAfter(result);
  if (reason === undefined)
    return { kind: 'after', delay: jittered(options.resync, options), reason: 'resync', priority: 'low' };
  if (reason.name === 'Conflict') return CONFLICT;
  if (reason.name === 'Outdated') return backOff(reason.facts.because);
  const next = { kind: 'after', delay: delayFor(reason, pending, options), reason: reason.name } as const;
  const { isTransit } = pending;
  const priority = reasonOf(result) === undefined ? (isTransit ? 'urgent' : 'low') : priorityAfter(reason, isTransit);
  return priority === undefined ? next : { ...next, priority };
}

function delayFor(reason: Reason, { waited, notBefore }: Pending, options: RequeueOptions): Ms {
  const { clock, resync } = options;
  const now = clock.monotonic();
  const remaining = (notBefore ?? now) - now;
  if (remaining > 0) return Math.min(jittered(remaining, options), resync);
  return jittered(Math.min(pollOf(reason, waited), resync), options);
}

const jittered = (span: Ms, { random }: RequeueOptions): Ms => span * (1 + JITTER * random.next());

/**
 * While EKS changes the object's profile, the next reconcile is urgent: other objects in the EKS cluster wait until a
 * reconcile sees the end of the change. Retries in an outage may continue for long, so they have a low priority, and
 * objects about which AWS was not asked yet come first.
 */
function priorityAfter(reason: Reason, isTransit: boolean): QueuePriority | undefined {
  if (natureOf(reason) !== 'outage') return isTransit ? 'urgent' : undefined;
  return isTransit ? undefined : 'low';
}
