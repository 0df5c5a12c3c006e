import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import type { Random } from '../../pkg/env/random.ts';
import { KubeError } from '../../pkg/kube/errors.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { Turns } from '../../pkg/runtime/turns.ts';
import type { ReconcileContext, Requeue } from '../../pkg/runtime/types.ts';
import { isDeleting, isRetained } from '../standing.ts';
import type { EventSpec } from './events.ts';
import { eventOf, eventsOf, eventsOfSteps, retained } from './events.ts';
import { isInTransit } from './lane.ts';
import type { Memories } from './memories.ts';
import type { Memory } from './memory.ts';
import { attemptsOf, notBeforeOf, rememberSuccess, rememberWaiting, waitedFor, withWaitOf } from './memory.ts';
import { releasePatch } from './metadata.ts';
import type { Desired } from './model.ts';
import type { ProfileObjects } from './objects.ts';
import type { Dropped, End, Pass, Seen } from './pass.ts';
import type { Why } from './reasons.ts';
import { pollOf } from './reasons.ts';
import { statusOf } from './report.ts';

export interface ConclusionOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly objects: Pick<ProfileObjects, 'patchMetadata' | 'patchStatus' | 'delete'>;
  readonly turns: Turns;
  readonly tell: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
  /** How often an object at rest is compared with AWS. */
  readonly resync: Ms;
}

/** What a pass found out and did, before it is told. */
export interface Findings {
  readonly object: AWSFargateProfile;
  readonly end: End | Dropped;
  readonly desired?: Desired;
  readonly observed?: Seen;
  readonly trail?: Pass['trail'];
}

/** What is to be told where the end of a pass cannot be written. */
interface Telling {
  readonly trail: Pass['trail'];
  readonly before: Memory;
  readonly context: ReconcileContext;
}

/** How far a resync may be off, so that objects made together do not stay together. */
const JITTER = 0.1;
/** Until the limiter lets through what it did not, the lease is surer, or another pass has left a role. */
const MOMENT: Ms = 1_000;

export const DONE: Requeue = { kind: 'done' };
/** Somebody else wrote first: the pass came to nothing. */
export const CONFLICT: Requeue = { kind: 'conflict' };
export const again = (because: string): Requeue => ({ kind: 'backoff', why: because });

/** The end of a pass: says what came of it, on the object and in events, and plans the next. */
export class Conclusion {
  private readonly options: ConclusionOptions;
  private readonly memories: Memories;

  constructor(options: ConclusionOptions, memories: Memories) {
    this.options = options;
    this.memories = memories;
  }

  /** Says what came of a pass, lets a finished object go, and plans the next pass. */
  async conclude({ object, end, ...findings }: Findings, context: ReconcileContext): Promise<Requeue> {
    const { clock, resync, turns } = this.options;
    if (end.kind === 'conflict' || end.kind === 'quit') {
      this.tellSteps(object, findings.trail, context);
      if (end.kind === 'conflict') return CONFLICT;
      context.logger.debug('Pass given up', { because: end.because });
      return end.until === 'changed' ? again(end.because) : this.soon(end.because);
    }
    // Not before: a pass that came to nothing says nothing of whether the object still waits for its turn.
    if (!isInLine(end)) turns.leave(keyText(keyOf(object)));
    const before = this.memories.of(object);
    const memory = this.remember(object, end.kind === 'stopped' ? end.why : undefined);
    const waited = end.kind === 'stopped' ? waitedFor(memory, end.why, clock.monotonic()) : 0;
    const pass: Pass = {
      object,
      end,
      trail: [],
      ...findings,
      now: clock.now(),
      waited,
      attempts: attemptsOf(memory, object.metadata.generation ?? 0),
    };
    const telling: Telling = { trail: pass.trail, before, context };
    if (end.kind === 'settled' && isDeleting(object)) return this.letGo(object, eventsOf(pass), telling);
    if (end.kind === 'settled' && findings.desired?.wanted === undefined) return this.sendOff(object, telling);
    const status = statusOf(pass);
    const isWritten = await this.write(object, telling, () =>
      this.options.objects.patchStatus(object, status, context.signal),
    );
    if (!isWritten) return CONFLICT;
    this.tell(object, eventsOf(pass));
    if (end.kind === 'settled') return { kind: 'after', delay: this.jittered(resync), why: 'resync' };
    const next = { kind: 'after', delay: this.delayOf(object, end.why, memory, waited), why: end.why.reason } as const;
    // A whole line may wait for the end of this one.
    return isInTransit({ status }) ? { ...next, priority: 'high' } : next;
  }

  /**
   * The API server does not let a pass go on: that is said on the object, unless it is paused; and where not even that can be
   * written, in an event.
   */
  async refuse(
    object: AWSFargateProfile,
    reason: Why<'APIServerRefused'>,
    isPaused: boolean,
    context: ReconcileContext,
  ): Promise<Requeue> {
    if (!isPaused) {
      try {
        const next = await this.conclude({ object, end: { kind: 'stopped', why: reason } }, context);
        if (next.kind !== 'conflict') return next;
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
      }
    }
    // Each time: nothing else says it.
    this.tell(object, [eventOf(reason)]);
    const memory = this.remember(object, reason);
    const waited = waitedFor(memory, reason, this.options.clock.monotonic());
    return { kind: 'after', delay: this.delayOf(object, reason, memory, waited), why: reason.reason };
  }

  /** Lets the object go with everything left in AWS as it is. */
  async release(object: AWSFargateProfile, context: ReconcileContext): Promise<Requeue> {
    const told = isRetained(object) ? [retained(object)] : [];
    return this.letGo(object, told, { trail: [], before: this.memories.of(object), context });
  }

  /** Again in a moment, however often: nothing is wrong with the object. */
  soon(because: string): Requeue {
    return { kind: 'after', delay: this.jittered(MOMENT), why: because };
  }

  /**
   * What was done is told whatever becomes of the pass; what was found will be found again. A call that the manager's own
   * stop cut off is no failure.
   */
  tellSteps(
    object: AWSFargateProfile,
    trail: Pass['trail'] | undefined,
    { signal }: Pick<ReconcileContext, 'signal'>,
  ): void {
    const told = signal.aborted ? trail?.filter(({ outcome }) => outcome.kind === 'done') : trail;
    this.tell(object, eventsOfSteps({ trail: told ?? [] }));
  }

  private remember(object: AWSFargateProfile, reason: Why | undefined): Memory {
    const before = this.memories.of(object);
    const memory =
      reason === undefined ? rememberSuccess(before) : rememberWaiting(before, reason, this.options.clock.monotonic());
    this.memories.keep(object, memory);
    return memory;
  }

  /**
   * Whether the write was made. Where it was not, be it that the API server refuses it, what was done is told, and what the
   * object is said to wait for is what it waited for `before`.
   */
  private async write(
    object: AWSFargateProfile,
    { trail, before, context }: Telling,
    write: () => Promise<AWSFargateProfile | undefined>,
  ): Promise<boolean> {
    let written: AWSFargateProfile | undefined;
    try {
      written = await write();
    } finally {
      if (written === undefined) {
        this.tellSteps(object, trail, context);
        this.memories.keep(object, withWaitOf(before, this.memories.of(object)));
      }
    }
    return written !== undefined;
  }

  /** Takes our finalizer off. */
  private async letGo(object: AWSFargateProfile, events: readonly EventSpec[], telling: Telling): Promise<Requeue> {
    const isWritten = await this.write(object, telling, () =>
      this.options.objects.patchMetadata(object, releasePatch(object), telling.context.signal),
    );
    if (!isWritten) return CONFLICT;
    this.tell(object, events);
    return DONE;
  }

  /** Nothing is left in AWS that a living object of a cluster that goes could keep: it goes along. */
  private async sendOff(object: AWSFargateProfile, telling: Telling): Promise<Requeue> {
    const { logger, signal } = telling.context;
    logger.info('Deleting profile of a cluster that is torn down: it has nothing left to retain');
    await this.write(object, telling, async () => {
      await this.options.objects.delete(object, signal);
      return object;
    });
    return DONE;
  }

  private tell(object: AWSFargateProfile, events: readonly EventSpec[]): void {
    for (const event of events) this.options.tell(object, event);
  }

  private delayOf(object: AWSFargateProfile, reason: Why, memory: Memory, waited: Ms): Ms {
    const { clock, random, resync } = this.options;
    const now = clock.monotonic();
    const remaining = (notBeforeOf(memory, reason) ?? now) - now;
    // A pass before that time would change nothing, and wait as long again.
    if (remaining > 0) return Math.min(remaining * (1 + JITTER * random.next()), resync);
    const usual = this.memories.usual(object, reason.reason);
    return this.jittered(Math.min(pollOf(reason, waited, usual), resync));
  }

  private jittered(span: Ms): Ms {
    return span * (1 - JITTER + 2 * JITTER * this.options.random.next());
  }
}

const isInLine = (end: End | Dropped): boolean =>
  end.kind === 'stopped' && (end.why.reason === 'WaitingForSibling' || end.why.reason === 'ClusterUpdating');
