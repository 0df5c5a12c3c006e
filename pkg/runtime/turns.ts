import type { Clock, Ms } from '../env/clock.ts';

/** Who asks for the one place in a lane. */
export interface Ticket {
  /** What can be changed by one at a time. */
  readonly lane: string;
  /** Who asks; unique among all that ask. */
  readonly id: string;
  /** The name under which others see it, and under which the lane reports it busy. */
  readonly name: string;
  /** Goes before all that are not urgent. */
  readonly urgent: boolean;
  /** RFC 3339; the older goes first, then the smaller id. */
  readonly createdAt: string;
}

export type Turn =
  | { readonly kind: 'yours' }
  | {
      readonly kind: 'wait';
      /** The name that is ahead. */
      readonly ahead: string;
      /** What it does, in words. */
      readonly doing: string;
      /** Nobody here looks after what is ahead: whoever waits has to look whether it has ended. */
      readonly foreign: boolean;
    }
  /** Nothing may be changed before that (monotonic) time, for a reason that names nobody. */
  | { readonly kind: 'closed'; readonly until: Ms };

interface Busy {
  readonly name: string;
  readonly doing: string;
  readonly foreign: boolean;
  /** Monotonic time at which it was last seen busy. */
  readonly seen: Ms;
}

interface Lane {
  busy: Busy | undefined;
  closedUntil: Ms;
  /** Asked and was told to wait; by id. */
  readonly waiting: Map<string, Ticket & { readonly asked: Ms }>;
  /** The place is kept for the one that was woken. */
  reserved: { readonly id: string; readonly until: Ms } | undefined;
  /** Was told to go and has not said yet what came of it. */
  going: Ticket | undefined;
  /** When it was last heard of (monotonic). */
  touched: Ms;
}

/** What was seen busy and not seen again for so long is asked after: whoever looked after it may be gone. */
export const BUSY_TRUSTED: Ms = 35_000;
/** How long the place is kept for the one whose turn it is. */
const RESERVATION: Ms = 5_000;
/** A lane that was not heard of for so long is forgotten: its cluster may be gone. */
const LANE_KEPT: Ms = 600_000;
/** A waiter looks for itself every 30 s; one that did not is gone. */
const WAITER_TRUSTED: Ms = 40_000;

/**
 * Whose turn it is to change something that takes one change at a time.
 *
 * No lock: all of it follows from what was seen, and losing it costs a refused call and a wait, never safety. The other
 * side stays the authority; what it says goes in through {@link busy} and {@link close}.
 */
export class Turns {
  private readonly clock: Clock;
  private readonly wake: (id: string) => void;
  private readonly lanes = new Map<string, Lane>();

  /** `wake` is told whose turn it has become; it is an optimisation, for waiters look for themselves. */
  constructor(options: { readonly clock: Clock; readonly wake: (id: string) => void }) {
    this.clock = options.clock;
    this.wake = options.wake;
  }

  /** Whether nothing was ever heard of the lane: after a start, what others wrote down is worth more than nothing. */
  isUnknown(lane: string): boolean {
    return !this.lanes.has(lane);
  }

  /** `yours` must be followed by {@link accepted} or {@link release}. */
  ask(ticket: Ticket): Turn {
    const lane = this.laneOf(ticket.lane);
    const turn = this.turnFor(lane, ticket);
    if (turn.kind === 'yours') {
      lane.waiting.delete(ticket.id);
      lane.reserved = undefined;
      lane.going = ticket;
    } else {
      lane.waiting.set(ticket.id, { ...ticket, asked: this.clock.monotonic() });
    }
    return turn;
  }

  /** The change was taken and goes on. */
  accepted(ticket: Ticket, doing: string): void {
    const lane = this.laneOf(ticket.lane);
    if (lane.going?.id === ticket.id) lane.going = undefined;
    lane.busy = { name: ticket.name, doing, foreign: false, seen: this.clock.monotonic() };
  }

  /**
   * The change was refused, or came to nothing: the place is free again, unless somebody else was seen in it. From one
   * whose turn it is not, it says nothing.
   */
  release(ticket: Ticket): void {
    const lane = this.laneOf(ticket.lane);
    if (lane.going?.id !== ticket.id) return;
    lane.going = undefined;
    // All were told that this one is ahead. Where somebody else is instead, they are to say so.
    if (lane.busy !== undefined || lane.closedUntil > this.clock.monotonic()) {
      for (const id of lane.waiting.keys()) this.wake(id);
    } else this.next(lane);
  }

  /** Somebody was seen in the lane. `foreign`: by hearsay only, nobody here looks after it. */
  busy(laneName: string, name: string, doing: string, foreign: boolean): void {
    const lane = this.laneOf(laneName);
    const known = lane.busy?.name === name ? lane.busy : undefined;
    lane.busy = { name, doing, foreign: foreign && (known?.foreign ?? true), seen: this.clock.monotonic() };
  }

  /** It was seen that `name` is not in the lane (any more). */
  settled(laneName: string, name: string): void {
    const lane = this.lanes.get(laneName);
    if (lane?.busy?.name !== name) return;
    lane.busy = undefined;
    this.next(lane);
  }

  /** Nothing may be changed for `span` from now. */
  close(laneName: string, span: Ms): void {
    const lane = this.laneOf(laneName);
    lane.closedUntil = Math.max(lane.closedUntil, this.clock.monotonic() + span);
  }

  /** `id` does not wait any more, in whichever lane. */
  leave(id: string): void {
    for (const lane of this.lanes.values()) {
      const waited = lane.waiting.delete(id);
      const reserved = lane.reserved?.id === id;
      if (reserved) lane.reserved = undefined;
      if (waited && reserved) this.next(lane);
    }
  }

  private turnFor(lane: Lane, ticket: Ticket): Turn {
    const now = this.clock.monotonic();
    if (lane.closedUntil > now) return { kind: 'closed', until: lane.closedUntil };
    const { busy, going, reserved } = lane;
    if (going !== undefined && going.id !== ticket.id) {
      return { kind: 'wait', ahead: going.name, doing: 'starting', foreign: false };
    }
    if (busy !== undefined && busy.name !== ticket.name && now - busy.seen < BUSY_TRUSTED) {
      return { kind: 'wait', ahead: busy.name, doing: busy.doing, foreign: busy.foreign };
    }
    if (reserved !== undefined && reserved.id !== ticket.id && reserved.until > now) {
      const ahead = lane.waiting.get(reserved.id);
      if (ahead !== undefined && precedes(ahead, ticket)) {
        return { kind: 'wait', ahead: ahead.name, doing: 'next in turn', foreign: false };
      }
    }
    return { kind: 'yours' };
  }

  /** Keeps the free place for the first in line and tells it so. */
  private next(lane: Lane): void {
    const now = this.clock.monotonic();
    if (lane.busy !== undefined || lane.going !== undefined) return;
    const line = [...lane.waiting.values()].filter(({ asked }) => now - asked < WAITER_TRUSTED);
    const [first] = line.toSorted((a, b) => (precedes(a, b) ? -1 : 1));
    if (first === undefined) return;
    lane.reserved = { id: first.id, until: now + RESERVATION };
    this.wake(first.id);
  }

  private laneOf(name: string): Lane {
    const now = this.clock.monotonic();
    const known = this.lanes.get(name);
    if (known !== undefined) {
      known.touched = now;
      return known;
    }
    for (const [other, lane] of this.lanes) if (isForgotten(lane, now)) this.lanes.delete(other);
    const lane: Lane = {
      busy: undefined,
      closedUntil: 0,
      waiting: new Map(),
      reserved: undefined,
      going: undefined,
      touched: now,
    };
    this.lanes.set(name, lane);
    return lane;
  }
}

/** What was seen in a lane is worth nothing any more, and nobody is in it. */
function isForgotten({ going, waiting, closedUntil, touched }: Lane, now: Ms): boolean {
  return going === undefined && waiting.size === 0 && closedUntil <= now && now - touched >= LANE_KEPT;
}

function precedes(a: Ticket, b: Ticket): boolean {
  if (a.urgent !== b.urgent) return a.urgent;
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt;
  return a.id < b.id;
}
