import { randomUUID } from 'node:crypto';
import type { Clock, Ms, Timer } from './clock.ts';
import type { Random } from './random.ts';

/** 24.8 days. With a longer delay, `setTimeout` fires after 1 ms. */
const LONGEST_TIMEOUT: Ms = 2 ** 31 - 1;

/** Its timers keep the process alive until they fire or are cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delay, fire): Timer {
    if (Number.isNaN(delay)) throw new RangeError('the delay of a timer is not a number');
    if (delay <= 0) {
      const immediate = setImmediate(fire);
      return { cancel: () => clearImmediate(immediate) };
    }
    const due = performance.now() + delay;
    let handle: NodeJS.Timeout | undefined;
    const arm = (): void => {
      const remaining = due - performance.now();
      handle = setTimeout(onTimeout, Math.min(Math.max(Math.ceil(remaining), 0), LONGEST_TIMEOUT));
    };
    // Node's timers may fire up to a millisecond early, but a deadline must never expire early.
    const onTimeout = (): void => (performance.now() < due ? arm() : fire());
    arm();
    return { cancel: () => clearTimeout(handle) };
  },
};

export const systemRandom: Random = {
  next: () => Math.random(),
  uuid: () => randomUUID(),
};
