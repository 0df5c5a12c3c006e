import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Clock, Ms } from '../../../pkg/env/clock.ts';
import type { Random } from '../../../pkg/env/random.ts';
import type { QueuePriority } from '../../../pkg/runtime/queue/ready-keys.ts';
import type { Requeue } from '../../../pkg/runtime/reconcile.ts';
import type { CompletedPass, PassEnd, StoppedPass } from '../model/pass.ts';
import type { Reason } from '../reasons/reasons.ts';
import { natureOf, pollOf } from '../reasons/reasons.ts';
import type { RetryState } from '../retry/retry-state.ts';
import { notBeforeFor } from '../retry/retry-state.ts';
import { resyncDelay } from '../retry/resync-delay.ts';
import type { RetryStore } from '../retry/retry-store.ts';

export interface RequeueOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly retryStore: RetryStore;
  /** The interval at which an AWSFargateProfile is compared with AWS while nothing changes. */
  readonly resync: Ms;
}

/**
 * The largest random deviation of a delay, as a share of the delay. It spreads the resyncs of objects that were created
 * at the same time.
 */
const JITTER = 0.1;
/**
 * The delay after a reconcile that ended without a result. Within this time the rate limiter usually admits a request
 * again, the manager renews its leader lease, or another reconcile releases the lock of a shared role.
 */
const MOMENT: Ms = 1_000;

export const DONE: Requeue = { kind: 'done' };
/** The requeue after another client has written the object first, so that the reconcile has no result. */
export const CONFLICT: Requeue = { kind: 'conflict' };
export const backOff = (reason: string): Requeue => ({ kind: 'backoff', reason });

/** Decides when the next reconcile of an object follows. */
export class Requeues {
  private readonly options: RequeueOptions;

  constructor(options: RequeueOptions) {
    this.options = options;
  }

  /** Returns the requeue after a reconcile whose result is written. `state` is the retry state after this reconcile. */
  after({ object, end, waited }: CompletedPass, state: RetryState, isTransit: boolean): Requeue {
    if (end.kind === 'settled') return this.resyncLater();
    const delay = this.delayFor(object, end.reason, state, waited);
    const next = { kind: 'after', delay, reason: end.reason.name } as const;
    const priority = priorityAfter(end, isTransit);
    return priority === undefined ? next : { ...next, priority };
  }

  /** Returns the requeue after a reconcile that stopped for `reason` and could not write its result. */
  retry(object: AWSFargateProfile, reason: Reason, state: RetryState, waited: Ms): Requeue {
    return { kind: 'after', delay: this.delayFor(object, reason, state, waited), reason: reason.name };
  }

  /** Returns the requeue after a reconcile that ended without a result. */
  soon(because: string): Requeue {
    return { kind: 'after', delay: this.jittered(MOMENT), reason: because };
  }

  /** Returns the requeue of an object for which the controller has nothing to do until the next comparison with AWS. */
  resyncLater(): Requeue {
    const { clock, resync } = this.options;
    return { kind: 'after', delay: resyncDelay(clock, this.jittered(resync), resync), reason: 'resync' };
  }

  private delayFor(object: AWSFargateProfile, reason: Reason, state: RetryState, waited: Ms): Ms {
    const { clock, random, resync, retryStore } = this.options;
    const now = clock.monotonic();
    const remaining = (notBeforeFor(state, reason) ?? now) - now;
    // Before the end of the backoff, a reconcile would change nothing in AWS, so the delay lasts until then.
    if (remaining > 0) return Math.min(remaining * (1 + JITTER * random.next()), resync);
    const usual = retryStore.usualDuration(object, reason.name);
    const delay = Math.min(pollOf(reason, waited, usual), resync);
    // If it is known when EKS usually finishes its change, a random deviation would miss that time. So the delay has
    // none.
    return usual === undefined ? this.jittered(delay) : delay;
  }

  private jittered(span: Ms): Ms {
    return span * (1 - JITTER + 2 * JITTER * this.options.random.next());
  }
}

/**
 * Returns the priority of the next reconcile if other AWSFargateProfiles of the cluster may wait for it; otherwise
 * undefined. Retries in an outage get no priority, because they may go on for long. Retries after an error get none
 * either, unless EKS is creating or deleting the Fargate profile.
 */
function priorityAfter(end: StoppedPass, isTransit: boolean): QueuePriority | undefined {
  const nature = natureOf(end.reason);
  if (isTransit) return nature === 'outage' ? undefined : 'high';
  return nature === 'wait' && !isWaitingInQueue(end) ? 'head' : undefined;
}

/**
 * Whether the object waits in the queue of profile changes until EKS has finished another change of the EKS cluster.
 */
export const isWaitingInQueue = (end: PassEnd): boolean =>
  end.kind === 'stopped' && (end.reason.name === 'WaitingForSibling' || end.reason.name === 'ClusterUpdating');
