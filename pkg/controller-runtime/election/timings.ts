import type { Ms } from '../env/clock.ts';

/** client-go's JitterFactor: a candidate waits the retry period plus a random part of up to 1.2 times that period. */
export const JITTER_FACTOR = 1.2;

/** A leader that still runs this long after its lease expired is unhealthy, as in kube-controller-manager. */
export const HEALTH_TOLERANCE: Ms = 20_000;

/**
 * A leader's change outside of the cluster must end this long before its lease expires, so that it never overlaps with
 * the next leader's changes.
 */
export const LEASE_SAFETY_MARGIN: Ms = 2_000;

/** As in client-go's LeaderElectionConfig. */
export interface ElectionTimings {
  /** How long a candidate must see no renewal before it takes the lease. The Lease contains this duration. */
  readonly leaseDuration: Ms;
  /** How long the leader retries a failed renewal before it gives up leadership. */
  readonly renewDeadline: Ms;
  /** The pause between two renewals, and the shortest pause between two attempts of a candidate. */
  readonly retryPeriod: Ms;
}

/** As in client-go and Cluster API. */
export const DEFAULT_TIMINGS: ElectionTimings = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 };

/** Checks client-go's rules. Throws an error that contains the flags. */
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
