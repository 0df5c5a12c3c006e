import type { Clock, Ms, Timer } from '../env/clock.ts';

interface Pending {
  readonly due: Ms;
  readonly fire: () => void;
}

/**
 * How many turns of the event loop run between two timers: enough for two chained `setImmediate`. Each turn adds
 * seconds to the duration of the tests.
 */
const TURNS = 2;

/** The monotonic clock starts at 0, so code that mixes up the two clocks fails. */
const START = Date.UTC(2026, 10, 21, 3, 25);

/**
 * A clock that stands still until a test moves it. Timers fire in the order of their due times. Timers with the same
 * due time fire in the order in which they were armed. Between two timers, pending promise callbacks and immediates
 * run.
 */
export class VirtualClock implements Clock {
  private wall: Ms;
  private elapsed: Ms = 0;
  /** The timer that is due next comes first. */
  private readonly timers: Pending[] = [];

  constructor(start: Ms = START) {
    this.wall = start;
  }

  now(): Ms {
    return Math.floor(this.wall + this.elapsed);
  }

  monotonic(): Ms {
    return this.elapsed;
  }

  after(delay: Ms, fire: () => void): Timer {
    if (Number.isNaN(delay)) throw new RangeError('the delay of a timer is not a number');
    const pending: Pending = { due: this.elapsed + Math.max(delay, 0), fire };
    const later = this.timers.findIndex((other) => other.due > pending.due);
    this.timers.splice(later === -1 ? this.timers.length : later, 0, pending);
    return {
      cancel: () => {
        const index = this.timers.indexOf(pending);
        if (index !== -1) this.timers.splice(index, 1);
      },
    };
  }

  /** Moves the wall clock but not the monotonic clock, as NTP or an operator does. */
  jumpWallClock(by: Ms): void {
    this.wall += by;
  }

  /** Returns in how many ms each armed timer fires, the shortest time first. */
  pendingTimers(): readonly Ms[] {
    return this.timers.map(({ due }) => due - this.elapsed);
  }

  /** Lets promise callbacks and a few chained immediates run, without firing a timer. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  async advance(span: Ms): Promise<void> {
    const end = this.elapsed + span;
    await this.settle();
    while (this.timers[0] !== undefined && this.timers[0].due <= end) await this.fireNext();
    this.elapsed = end;
  }

  /** Fires one timer after the other until `predicate` is true. Throws after `limitMs`, or when no timer is armed. */
  async runUntil(predicate: () => boolean | Promise<boolean>, options: { readonly limitMs: Ms }): Promise<void> {
    const end = this.elapsed + options.limitMs;
    await this.settle();
    while (!(await predicate())) {
      const next = this.timers[0];
      if (next === undefined) throw new Error(`not reached: no timer is armed (${String(predicate)})`);
      if (next.due > end) throw new Error(`not reached within ${options.limitMs} ms (${String(predicate)})`);
      await this.fireNext();
    }
  }

  private async fireNext(): Promise<void> {
    const next = this.timers.shift();
    if (next === undefined) return;
    this.elapsed = next.due;
    next.fire();
    await this.settle();
  }
}
