import type { Clock, Ms } from '../../../pkg/env/clock.ts';
import type { Random } from '../../../pkg/env/random.ts';
import type { QueuePriority } from '../../../pkg/runtime/queue/ready-keys.ts';
import type { Requeue } from '../../../pkg/runtime/reconcile.ts';
import type { CompletedPass } from '../model/pass.ts';
import { type Reason, natureOf, pollOf } from '../reasons/reasons.ts';
import { type RetryState, notBeforeFor, waitedFor } from '../retry/retry-state.ts';
import { CONFLICT, backOff } from '../../shared/requeue.ts';

export interface RequeueOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly resync: Ms;
}

/**
 * A share of the delay, which spreads the resyncs of objects that were created at the same time. It only lengthens the
 * delay, as in client-go: two polls of a second see the end of a change that took two.
 */
const JITTER = 0.1;

export class Requeues {
  private readonly options: RequeueOptions;

  constructor(options: RequeueOptions) {
    this.options = options;
  }

  after(
    { end, waited, execution, facts }: Pick<CompletedPass, 'end' | 'waited' | 'execution' | 'facts'>,
    state: RetryState,
    isTransit = false,
  ): Requeue {
    if (end === 'inOrder') {
      const rest = execution?.notices[0] ?? facts?.plan.notices.find((notice) => natureOf(notice) === 'wait');
      if (rest === undefined) return this.resyncLater();
      const delay = this.delayFor(rest, state, waitedFor(state, rest, this.options.clock.monotonic()));
      return { kind: 'after', delay, reason: rest.name, priority: isTransit ? 'urgent' : 'low' };
    }
    if (end.name === 'Conflict') return CONFLICT;
    if (end.name === 'Outdated') return backOff(end.facts.because);
    const next = { kind: 'after', delay: this.delayFor(end, state, waited), reason: end.name } as const;
    const priority = priorityAfter(end, isTransit);
    return priority === undefined ? next : { ...next, priority };
  }

  resyncLater(): Requeue {
    return { kind: 'after', delay: this.jittered(this.options.resync), reason: 'resync', priority: 'low' };
  }

  private delayFor(reason: Reason, state: RetryState, waited: Ms): Ms {
    const { clock, random, resync } = this.options;
    const now = clock.monotonic();
    const remaining = (notBeforeFor(state, reason) ?? now) - now;
    // Before the end of the backoff, a pass would change nothing in AWS.
    if (remaining > 0) return Math.min(remaining * (1 + JITTER * random.next()), resync);
    return this.jittered(Math.min(pollOf(reason, waited), resync));
  }

  private jittered(span: Ms): Ms {
    return span * (1 + JITTER * this.options.random.next());
  }
}

/**
 * Others of the cluster wait for a pass that sees the end of a change in EKS. Retries in an outage may go on for long,
 * so they let the objects go first that AWS was not asked about yet.
 */
function priorityAfter(reason: Reason, isTransit: boolean): QueuePriority | undefined {
  if (natureOf(reason) !== 'outage') return isTransit ? 'urgent' : undefined;
  return isTransit ? undefined : 'low';
}
