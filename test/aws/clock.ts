import { setTimeout as delay } from 'node:timers/promises';

/** The clock of the AWS emulator. A test can replace it with a virtual clock. */
export interface EmulatorClock {
  /** Returns the time in milliseconds since the epoch. The emulated AWS assumes that the time never decreases. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

export const systemClock: EmulatorClock = {
  now: () => Date.now(),
  sleep: (ms) => delay(ms),
};
