import type { Ms } from '../../env/clock.ts';

/** client-go's JitterFactor: a candidate waits the retry period plus a random part of up to 1.2 times that period. */
export const JITTER_FACTOR = 1.2;

/**
 * The health check fails when a leader's lease expired this long ago and the leader has neither renewed the lease nor
 * exited. The value is that of kube-controller-manager.
 */
export const HEALTH_TOLERANCE: Ms = 20_000;

/** The three durations of leader election, as in client-go's LeaderElectionConfig. */
export interface ElectionTimings {
  /**
   * The leader writes this duration to the Lease. A candidate takes the lease when it has seen no renewal by the leader
   * for the duration in the Lease.
   */
  readonly leaseDuration: Ms;
  /** How long the leader retries a failed renewal of the lease before it gives up leadership. */
  readonly renewDeadline: Ms;
  /**
   * The pause between two renewals of the leader. It is also the shortest pause between two attempts of a candidate,
   * unless the leader releases the lease.
   */
  readonly retryPeriod: Ms;
}

/** The default durations of leader election in client-go and Cluster API. */
export const DEFAULT_TIMINGS: ElectionTimings = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 };

/** Checks client-go's rules for the durations of leader election. Throws an error that names the command-line flags. */
export function validateTimings({ leaseDuration, renewDeadline, retryPeriod }: ElectionTimings): void {
  if (!(leaseDuration >= 1000)) throw new Error('--leader-elect-lease-duration must be at least 1s');
  if (!(retryPeriod > 0)) throw new Error('--leader-elect-retry-period must be greater than zero');
  if (!(leaseDuration > renewDeadline))
    throw new Error('--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline');
  if (!(renewDeadline > JITTER_FACTOR * retryPeriod))
    throw new Error(
      `--leader-elect-renew-deadline must be greater than ${JITTER_FACTOR} times --leader-elect-retry-period`,
    );
}
