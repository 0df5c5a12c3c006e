/** Elects one of several processes as leader with a Lease. */
export * from './leader-election.ts';
export { LEASES, type LeaseSpec, leaseSpecOf } from './lease.ts';
export { type ElectionTimings, DEFAULT_TIMINGS, validateTimings } from './timings.ts';
