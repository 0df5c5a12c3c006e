import { sumOfSamples, type RunningManager } from '../../test/world/manager/manager.ts';
import { memoryOf, type ProcessMemory } from './processes.ts';

const WRITES = ['POST', 'PATCH', 'PUT', 'DELETE'] as const;
const MIB = 2 ** 20;

/** prom-client's event loop delays include its measurement interval, which cmd/manager/main.ts sets to this value. */
const LAG_INTERVAL_MS = 50;

/** The resources that a manager process has used since its start, from its metrics and from the operating system. */
export interface ManagerUsage {
  readonly cpuSeconds: number;
  readonly memory: ProcessMemory;
  /** The number of the manager's requests to the API server, by HTTP method. GET requests are reads. */
  readonly requests: Readonly<Record<string, number>>;
  /**
   * The number of the manager's requests that wrote the Lease of its leader election, or an Event about the leader.
   * `BenchWorld` counts these requests; the result of `usageOf` has 0.
   */
  readonly electionWrites: number;
  /** The number of the manager's requests that the API server refused (with 409 or another error) or did not answer. */
  readonly refused: number;
  /** The 99th percentile of the delay of the manager's event loop in milliseconds, since its metrics were read last. */
  readonly eventLoopDelayMs: number;
}

/**
 * Reads the resources that the manager has used. The function reads the manager's metrics only once, because each read
 * starts a new period for the delay of the event loop.
 */
export async function usageOf(manager: RunningManager): Promise<ManagerUsage> {
  const metrics = await manager.metrics();
  const sum = (name: string, labels = {}): number => sumOfSamples(metrics, name, labels);
  const requests = Object.fromEntries(
    ['GET', ...WRITES].map((method) => [method, sum('rest_client_requests_total', { method })]),
  );
  const resident = sum('process_resident_memory_bytes') / MIB;
  return {
    cpuSeconds: sum('process_cpu_seconds_total'),
    memory: (await memoryOf(manager.pid)) ?? { nowMiB: resident, peakMiB: resident },
    requests,
    electionWrites: 0,
    refused: refusedIn(metrics),
    eventLoopDelayMs: sum('nodejs_eventloop_lag_p99_seconds') * 1000 - LAG_INTERVAL_MS,
  };
}

const refusedIn = (metrics: string): number =>
  metrics
    .split('\n')
    .filter((line) => /^rest_client_requests_total\{.*code="(?:[45]|<)/.test(line))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);

/** Returns the resources that the manager used between two readings of its usage. */
export function usageSince(before: ManagerUsage, now: ManagerUsage): ManagerUsage {
  const requests = Object.entries(now.requests).map(
    ([method, count]) => [method, count - (before.requests[method] ?? 0)] as const,
  );
  return {
    ...now,
    cpuSeconds: now.cpuSeconds - before.cpuSeconds,
    requests: Object.fromEntries(requests),
    electionWrites: now.electionWrites - before.electionWrites,
    refused: now.refused - before.refused,
  };
}

/**
 * Returns the number of the manager's writes to the API server, without the writes of its leader election. The
 * manager's metrics count all writes, and watch events count the writes of the leader election. A late watch event can
 * make the difference negative; then the result is 0.
 */
export const writesOf = ({ requests, electionWrites }: ManagerUsage): number =>
  Math.max(0, WRITES.reduce((sum, method) => sum + (requests[method] ?? 0), 0) - electionWrites);

/** Returns the number of the manager's GET requests to the API server: reads and watches. */
export const readsOf = ({ requests }: ManagerUsage): number => requests['GET'] ?? 0;
