import { readFile } from 'node:fs/promises';
import type { RunningManager } from '../world/manager.ts';

const WRITES = ['POST', 'PATCH', 'PUT', 'DELETE'] as const;
const MIB = 2 ** 20;

/** What a manager has used since its start, or another moment, by its own metrics and the kernel's. */
export interface Usage {
  readonly cpuSeconds: number;
  /** The most memory that was resident at any moment since the start. */
  readonly peakMiB: number;
  /** Requests to the API server by method; reads are the GETs. */
  readonly requests: Readonly<Record<string, number>>;
  /** Requests to the API server that it refused (409 and others), or did not answer. */
  readonly refused: number;
}

export async function usageOf(manager: RunningManager): Promise<Usage> {
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

/** What was used between two looks. */
export function usageSince(before: Usage, now: Usage): Usage {
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

export const writesOf = ({ requests }: Usage): number =>
  WRITES.reduce((sum, method) => sum + (requests[method] ?? 0), 0);

/** The kernel's high-water mark; where there is no /proc, what is resident now. */
async function peakOf(manager: RunningManager): Promise<number> {
  const status = await readFile(`/proc/${manager.pid}/status`, 'utf8').catch(() => '');
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
  return kibibytes === undefined
    ? (await manager.metric('process_resident_memory_bytes')) / MIB
    : Number(kibibytes) / 1024;
}
