/** Elects one of several processes as leader with a Lease. */
export * from './leader-election.ts';
export { LEASES, type LeaseSpec, leaseSpecOf } from './lease.ts';
export { type ElectionTimings, DEFAULT_TIMINGS, LEASE_SAFETY_MARGIN, validateTimings } from './timings.ts';
