/** A duration or a point in time, in milliseconds. */
export type Ms = number;

/** An armed timer. Cancelling a timer twice, or after it has fired, does nothing. */
export interface Timer {
  cancel(): void;
}

/** The only source of time in the manager. Tests use a VirtualClock. */
export interface Clock {
  /** The wall clock, in whole milliseconds since 1970, for messages and for timestamps of Kubernetes and other services. */
  now(): Ms;
  /** A clock that never jumps, for durations such as those of leases, deadlines, and latencies. */
  monotonic(): Ms;
  /**
   * Calls `fire` once, after `delay` ms. Unlike with `setTimeout`, the delay may be longer than 2^31-1 ms. With a delay
   * of 0, calls `fire` in the next turn of the event loop.
   */
  after(delay: Ms, fire: () => void): Timer;
}
