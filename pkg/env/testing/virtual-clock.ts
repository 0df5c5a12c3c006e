import type { Clock, Ms, Timer } from '../clock.ts';

interface Pending {
  readonly due: Ms;
  readonly fire: () => void;
}

/** Turns of the event loop given to the code under test between two timers: room for a few chained `setImmediate`. */
const TURNS = 4;

/** Far from 0 and from any boundary, so that a mix-up of wall clock and monotonic clock shows. */
const START = Date.UTC(2026, 10, 21, 3, 25);

/**
 * Time that stands still until a test moves it. Timers fire in the order in which they are due, those due together in
 * the order in which they were armed; between two of them everything that became runnable runs.
 */
export class VirtualClock implements Clock {
  private wall: Ms;
  private elapsed: Ms = 0;
  /** Sorted by `due`. */
  private readonly timers: Pending[] = [];

  constructor(start: Ms = START) {
    this.wall = start;
  }

  /** Whole, as Date.now, although a timer may be due at a fraction of a millisecond. */
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

  /** Moves the wall clock alone, as NTP or an operator would. */
  jumpWallClock(by: Ms): void {
    this.wall += by;
  }

  /** In how many ms each armed timer is due, the nearest first. A stopped component leaves none. */
  pendingTimers(): readonly Ms[] {
    return this.timers.map(({ due }) => due - this.elapsed);
  }

  /** Lets everything run that waits for no timer. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Lets `span` ms pass. */
  async advance(span: Ms): Promise<void> {
    const end = this.elapsed + span;
    await this.settle();
    while (this.timers[0] !== undefined && this.timers[0].due <= end) await this.fireNext();
    this.elapsed = end;
  }

  /**
   * Lets time pass, from timer to timer, until `predicate` holds. Throws when it does not within `limitMs`, or when no
   * timer is armed that could still change anything.
   */
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
