/** The emulator's time; a test may hand in a virtual one. */
export interface Clock {
  /** Milliseconds since the epoch; never goes back. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    }),
};
