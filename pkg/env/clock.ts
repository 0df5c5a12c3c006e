/** A span or an instant in milliseconds. */
export type Ms = number;

/** A timer that was armed and can be disarmed. Cancelling twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * The only source of time in the product. Tests drive it by hand.
 *
 * `now` is the wall clock (whole milliseconds since 1970), good for what people read and for comparing with timestamps of
 * Kubernetes and AWS. `monotonic` never jumps, good for spans: leases, deadlines, latencies.
 */
export interface Clock {
  now(): Ms;
  monotonic(): Ms;
  /** Runs `fire` once, `delay` ms from now. Any non-negative delay is allowed, also above 2^31-1. */
  after(delay: Ms, fire: () => void): Timer;
}
