import { randomUUID } from 'node:crypto';
import type { Clock, Ms, Timer } from './clock.ts';
import type { Random } from './random.ts';

/** `setTimeout` keeps its delay in 32 bits: anything longer (24.8 days) fires after 1 ms. */
const LONGEST_TIMEOUT: Ms = 2 ** 31 - 1;

/**
 * The machine's clock. Its timers keep the process alive, as any armed work should: whoever arms one cancels it when
 * the work is over, and a manager that has stopped leaves none behind.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delay, fire): Timer {
    if (Number.isNaN(delay)) throw new RangeError('the delay of a timer is not a number');
    const due = performance.now() + delay;
    let handle: NodeJS.Timeout | undefined;
    const arm = (): void => {
      const remaining = due - performance.now();
      handle = setTimeout(onTimeout, Math.min(Math.max(Math.ceil(remaining), 0), LONGEST_TIMEOUT));
    };
    // Also covers the millisecond by which Node's timers may be early: an expiry must never be judged too soon.
    const onTimeout = (): void => (performance.now() < due ? arm() : fire());
    arm();
    return { cancel: () => clearTimeout(handle) };
  },
};

export const systemRandom: Random = {
  next: () => Math.random(),
  uuid: () => randomUUID(),
};
