/** Elects one of several processes as leader with a Lease. */
export { type LeaderElectionOptions, LeadershipLost, LeaderElection } from './leader-election.ts';
export type { Leadership } from './leadership.ts';
export { LEASES, type LeaseSpec, leaseSpecOf } from './lease.ts';
export { type ElectionTimings, DEFAULT_TIMINGS, validateTimings } from './timings.ts';
