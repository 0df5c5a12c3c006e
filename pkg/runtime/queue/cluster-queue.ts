import type { Clock, Ms } from '../../env/clock.ts';

/** One profile's request to change something in its EKS cluster. */
export interface QueueEntry {
  /** The name of the queue of profile changes. Each EKS cluster has its own queue. */
  readonly queue: string;
  /** The ID of this entry, which is unique across the queues of all EKS clusters. The function `wake` gets this ID. */
  readonly id: string;
  /**
   * The name of the Fargate profile to change. The queue tells this name to the entries that must wait for the change.
   */
  readonly name: string;
  /** Whether this entry goes before all entries that are not urgent. */
  readonly urgent: boolean;
  /**
   * The creation time of the Kubernetes object of the profile, in RFC 3339. Older entries go first; entries of the same
   * age are ordered by `id`.
   */
  readonly createdAt: string;
}

export type TurnDecision =
  | { readonly kind: 'granted' }
  | {
      readonly kind: 'wait';
      /** The name of the Fargate profile whose change must finish before this entry may start its change. */
      readonly ahead: string;
      /** The state of the change of the profile `ahead`, in words, e.g. `being created` or `next in turn`. */
      readonly doing: string;
      /**
       * True: the reconcile of the profile `ahead` has not observed its change. So the reconcile that waits must check
       * in EKS whether the change has finished.
       */
      readonly isUnverified: boolean;
    }
  /** The queue of the EKS cluster lets no entry start its change before this monotonic time. */
  | ({ readonly kind: 'closed' } & Closure);

/** `because` is the answer for which a queue is closed, in words, for the entries that wait. */
interface Closure {
  readonly until: Ms;
  readonly because: string;
}

/** A change of a Fargate profile that EKS is making. */
interface InFlightChange {
  readonly name: string;
  readonly doing: string;
  readonly isUnverified: boolean;
  /**
   * The ID of the entry whose reconciles check whether EKS has finished this change; undefined if the change is
   * unverified, i.e. if no reconcile checks it.
   */
  readonly observer: string | undefined;
  /** The monotonic time at which this change in EKS was most recently observed. */
  readonly observedAt: Ms;
}

interface WaitingEntry extends QueueEntry {
  /**
   * The monotonic time of the first request for a turn (the permission to start the change), and of the latest request.
   */
  readonly waitsSince: Ms;
  readonly requestedAt: Ms;
}

export interface ClusterQueueMetrics {
  /** Records how long an entry has waited until it got its turn, i.e. until it could start its change in EKS. */
  recordWait(span: Ms): void;
  /** Makes the metrics report, from now on, how many entries wait for their turn. `count` returns this number. */
  watchWaiting(count: () => number): void;
}

interface Queue {
  inFlight: InFlightChange | undefined;
  closed: Closure;
  /** The entries that wait for their turn (the permission to start their change), by their `id`. */
  readonly waiting: Map<string, WaitingEntry>;
  /** The entry that this queue has woken. Until the given time, no entry that goes after it may start its change. */
  reservation: { readonly id: string; readonly until: Ms } | undefined;
  /**
   * The entry that has the turn, i.e. the permission to start its change in EKS. Its turn ends when EKS has accepted
   * the change, or when the entry gives the turn back.
   */
  turnHolder: QueueEntry | undefined;
  /** The monotonic time at which this queue was most recently used. */
  lastUsedAt: Ms;
}

/**
 * A change in EKS that was not observed again within this time is ignored, because the Kubernetes object whose
 * reconciles observed the change may have been deleted.
 */
export const IN_FLIGHT_TTL: Ms = 35_000;
/**
 * How long the queue of an EKS cluster keeps the next turn (the permission to start a change) for the entry that the
 * queue has woken.
 */
const RESERVATION_TTL: Ms = 5_000;
/**
 * The queue of an EKS cluster is removed when it was not used for this long, because the EKS cluster may have been
 * deleted.
 */
const UNUSED_QUEUE_TTL: Ms = 600_000;
/**
 * While EKS makes another change, a waiting entry asks for the permission to start its change about every 30 s or more
 * often. An entry that has not asked for this long is passed over when the queue chooses the next entry.
 */
const WAITING_ENTRY_TTL: Ms = 40_000;

/**
 * Keeps one queue of profile changes for each EKS cluster, because EKS creates or deletes only one Fargate profile of a
 * cluster at a time. An entry of a queue may start its change in EKS only while the entry holds the turn.
 *
 * The queues only avoid calls that EKS would reject: EKS itself rejects a second change at the same time.
 * {@link markInFlight} and {@link close} record what EKS has answered. If the manager loses these records, for example
 * in a restart, EKS rejects the call of an entry that should have waited. The entry then waits.
 */
export class ClusterQueue {
  private readonly clock: Clock;
  private readonly wake: (id: string) => void;
  private readonly metrics: ClusterQueueMetrics | undefined;
  private readonly queues = new Map<string, Queue>();

  /**
   * The function `wake` gets the ID of an entry that should call `requestTurn`. A lost wake-up only costs time, because
   * each waiting entry calls `requestTurn` again within about 30 s, or when the queue is no longer closed.
   */
  constructor(options: {
    readonly clock: Clock;
    readonly wake: (id: string) => void;
    readonly metrics?: ClusterQueueMetrics;
  }) {
    this.clock = options.clock;
    this.wake = options.wake;
    this.metrics = options.metrics;
    this.metrics?.watchWaiting(() => [...this.queues.values()].reduce((sum, { waiting }) => sum + waiting.size, 0));
  }

  /**
   * Whether this manager has no queue for the EKS cluster, e.g. because the manager has just started. The caller can
   * then fill the queue from the recorded status of the Kubernetes objects.
   */
  isUnknown(queueName: string): boolean {
    return !this.queues.has(queueName);
  }

  /**
   * Grants the entry a turn (the permission to start its change in EKS) or refuses it. The caller must follow a granted
   * turn with {@link markAccepted} or {@link releaseTurn}.
   */
  requestTurn(entry: QueueEntry): TurnDecision {
    const queue = this.getQueue(entry.queue);
    const decision = this.decideTurn(queue, entry);
    const now = this.clock.monotonic();
    const waitsSince = queue.waiting.get(entry.id)?.waitsSince ?? now;
    if (decision.kind === 'granted') {
      // An entry that already has the turn may call `requestTurn` again. Its waiting time was recorded at the first
      // grant, and is not recorded twice.
      if (queue.turnHolder?.id !== entry.id) this.metrics?.recordWait(now - waitsSince);
      queue.waiting.delete(entry.id);
      queue.reservation = undefined;
      queue.turnHolder = entry;
    } else {
      queue.waiting.set(entry.id, { ...entry, waitsSince, requestedAt: now });
    }
    return decision;
  }

  /**
   * Records that EKS has accepted the change of this entry and is making the change. The turn of the entry (the
   * permission to start its change) ends.
   */
  markAccepted(entry: QueueEntry, doing: string): void {
    const queue = this.getQueue(entry.queue);
    if (queue.turnHolder?.id === entry.id) queue.turnHolder = undefined;
    queue.inFlight = {
      name: entry.name,
      doing,
      isUnverified: false,
      observer: entry.id,
      observedAt: this.clock.monotonic(),
    };
  }

  /**
   * Ends the turn of an entry (the permission to start its change) after EKS has rejected its change, or if the entry
   * made no change. Does nothing for an entry without the turn. With `keepsPlace`, the entry waits again at its former
   * place, because it makes its change soon.
   */
  releaseTurn(entry: QueueEntry, { keepsPlace = false }: { readonly keepsPlace?: boolean } = {}): void {
    const queue = this.getQueue(entry.queue);
    if (queue.turnHolder?.id !== entry.id) return;
    queue.turnHolder = undefined;
    if (keepsPlace) {
      const now = this.clock.monotonic();
      queue.waiting.set(entry.id, { ...entry, waitsSince: now, requestedAt: now });
    }
    // Each waiting entry was told to wait for the entry whose turn has ended. A woken entry calls `requestTurn` again,
    // and learns for which change it waits now.
    if (queue.inFlight !== undefined || queue.closed.until > this.clock.monotonic()) {
      for (const id of queue.waiting.keys()) this.wake(id);
    } else this.wakeNext(queue);
  }

  /**
   * Records that EKS is making a change of the Fargate profile `name`. `isUnverified` is true if the reconcile of that
   * profile did not observe the change. `observer` is the ID of the entry whose reconcile observed the change.
   */
  markInFlight(queueName: string, name: string, doing: string, isUnverified: boolean, observer?: string): void {
    const queue = this.getQueue(queueName);
    const known = queue.inFlight?.name === name ? queue.inFlight : undefined;
    queue.inFlight = {
      name,
      doing,
      isUnverified: isUnverified && (known?.isUnverified ?? true),
      observer: observer ?? known?.observer,
      observedAt: this.clock.monotonic(),
    };
  }

  /** Records that EKS is not, or is no longer, making a change of the Fargate profile `name`. */
  markSettled(queueName: string, name: string): void {
    const queue = this.queues.get(queueName);
    if (queue?.inFlight?.name !== name) return;
    queue.inFlight = undefined;
    this.wakeNext(queue);
  }

  /**
   * Closes the queue of one EKS cluster, so that for `span` ms no entry of this queue may start its change. The entries
   * that wait get the reason in words, `because`.
   */
  close(queueName: string, span: Ms, because: string): void {
    const queue = this.getQueue(queueName);
    queue.closed = { until: Math.max(queue.closed.until, this.clock.monotonic() + span), because };
  }

  /**
   * Removes the entry with this ID, because this process reconciles its object no longer: the object is deleted, paused
   * or moved to another management cluster. A change that only this entry observed becomes unverified (no reconcile
   * checks it any more), and the waiting entries request their turn again. An entry that has the turn keeps it until
   * {@link releaseTurn} or {@link markAccepted}. The caller need not know the EKS cluster of the queue.
   */
  removeEntry(id: string): void {
    for (const queue of this.queues.values()) {
      if (queue.inFlight?.observer !== id) continue;
      queue.inFlight = { ...queue.inFlight, isUnverified: true, observer: undefined };
      for (const waiting of queue.waiting.keys()) if (waiting !== id) this.wake(waiting);
    }
    this.endWait(id);
  }

  /**
   * Removes the entry with this ID from the entries that wait for their turn. Unlike {@link removeEntry}, this method
   * does not make a change in EKS unverified, because this process still reconciles the object of the entry and checks
   * the change.
   */
  endWait(id: string): void {
    for (const queue of this.queues.values()) {
      const wasWaiting = queue.waiting.delete(id);
      const hadReservation = queue.reservation?.id === id;
      if (hadReservation) queue.reservation = undefined;
      if (wasWaiting && hadReservation) this.wakeNext(queue);
    }
  }

  private decideTurn(queue: Queue, entry: QueueEntry): TurnDecision {
    const now = this.clock.monotonic();
    if (queue.closed.until > now) return { kind: 'closed', ...queue.closed };
    const { inFlight, turnHolder, reservation } = queue;
    if (turnHolder !== undefined && turnHolder.id !== entry.id) {
      return { kind: 'wait', ahead: turnHolder.name, doing: 'about to be changed', isUnverified: false };
    }
    if (inFlight !== undefined && inFlight.name !== entry.name && now - inFlight.observedAt < IN_FLIGHT_TTL) {
      return { kind: 'wait', ahead: inFlight.name, doing: inFlight.doing, isUnverified: inFlight.isUnverified };
    }
    if (reservation !== undefined && reservation.id !== entry.id && reservation.until > now) {
      const ahead = queue.waiting.get(reservation.id);
      if (ahead !== undefined && isBefore(ahead, entry)) {
        return { kind: 'wait', ahead: ahead.name, doing: 'next in turn', isUnverified: false };
      }
    }
    return { kind: 'granted' };
  }

  /**
   * Reserves the next turn (the permission to start a change) for the entry that goes before all other waiting entries,
   * and wakes this entry. Does nothing while an entry has the turn or EKS is making a change.
   */
  private wakeNext(queue: Queue): void {
    const now = this.clock.monotonic();
    if (queue.inFlight !== undefined || queue.turnHolder !== undefined) return;
    const candidates = [...queue.waiting.values()].filter(({ requestedAt }) => now - requestedAt < WAITING_ENTRY_TTL);
    const [first] = candidates.toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
    if (first === undefined) return;
    queue.reservation = { id: first.id, until: now + RESERVATION_TTL };
    this.wake(first.id);
  }

  private getQueue(name: string): Queue {
    const now = this.clock.monotonic();
    const known = this.queues.get(name);
    if (known !== undefined) {
      known.lastUsedAt = now;
      return known;
    }
    for (const [other, queue] of this.queues) if (isUnused(queue, now)) this.queues.delete(other);
    const queue: Queue = {
      inFlight: undefined,
      closed: { until: 0, because: '' },
      waiting: new Map(),
      reservation: undefined,
      turnHolder: undefined,
      lastUsedAt: now,
    };
    this.queues.set(name, queue);
    return queue;
  }
}

/**
 * Whether the queue of an EKS cluster can be removed: no entry has the turn or waits, the queue is not closed, and it
 * was not used for UNUSED_QUEUE_TTL (10 minutes). The queue may still have a record of a change in EKS, but the record
 * no longer counts: a record counts for IN_FLIGHT_TTL (35 seconds).
 */
function isUnused({ turnHolder, waiting, closed, lastUsedAt }: Queue, now: Ms): boolean {
  return turnHolder === undefined && waiting.size === 0 && closed.until <= now && now - lastUsedAt >= UNUSED_QUEUE_TTL;
}

function isBefore(a: QueueEntry, b: QueueEntry): boolean {
  if (a.urgent !== b.urgent) return a.urgent;
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt;
  return a.id < b.id;
}
