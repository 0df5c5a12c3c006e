import { readFile } from 'node:fs/promises';
import type { RunningManager } from '../world/manager/manager.ts';

const WRITES = ['POST', 'PATCH', 'PUT', 'DELETE'] as const;
const MIB = 2 ** 20;

/** What a manager process has used since its start, from the metrics of the manager and from the operating system. */
export interface ManagerUsage {
  readonly cpuSeconds: number;
  /** The peak of the manager's resident memory since its start. */
  readonly peakMiB: number;
  /** The number of the manager's requests to the API server, by HTTP method. GET requests are reads. */
  readonly requests: Readonly<Record<string, number>>;
  /** The number of the manager's requests that the API server refused (with 409 or another error) or did not answer. */
  readonly refused: number;
}

export async function usageOf(manager: RunningManager): Promise<ManagerUsage> {
  const requests: Record<string, number> = {};
  for (const method of ['GET', ...WRITES]) {
    const count = await manager.metric('rest_client_requests_total', { method });
    if (count > 0) requests[method] = count;
  }
  const text = await (await fetch(manager.metricsUrl)).text();
  const refused = text
    .split('\n')
    .filter((line) => /^rest_client_requests_total\{.*code="(?:[45]|<)/.test(line))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  return {
    cpuSeconds: await manager.metric('process_cpu_seconds_total'),
    peakMiB: await peakOf(manager),
    requests,
    refused,
  };
}

/** Returns what the manager has used between two measurements. */
export function usageSince(before: ManagerUsage, now: ManagerUsage): ManagerUsage {
  const requests = Object.entries(now.requests).map(
    ([method, count]) => [method, count - (before.requests[method] ?? 0)] as const,
  );
  return {
    cpuSeconds: now.cpuSeconds - before.cpuSeconds,
    peakMiB: now.peakMiB,
    requests: Object.fromEntries(requests),
    refused: now.refused - before.refused,
  };
}

export const writesOf = ({ requests }: ManagerUsage): number =>
  WRITES.reduce((sum, method) => sum + (requests[method] ?? 0), 0);

/**
 * Returns the peak of the manager's resident memory, which Linux reports as VmHWM
 * (https://man7.org/linux/man-pages/man5/proc_pid_status.5.html). Without /proc, returns the current resident memory.
 */
async function peakOf(manager: RunningManager): Promise<number> {
  const status = await readFile(`/proc/${manager.pid}/status`, 'utf8').catch(() => '');
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
  return kibibytes === undefined
    ? (await manager.metric('process_resident_memory_bytes')) / MIB
    : Number(kibibytes) / 1024;
}
