import { readFile } from 'node:fs/promises';

/**
 * The unit of the times in /proc: the kernel of Linux shows them in 1/100 s on every architecture of Node.js (USER_HZ).
 */
const TICKS_PER_SECOND = 100;

/** The memory of a process in MiB. */
export interface ProcessMemory {
  readonly nowMiB: number;
  /** The peak since the start of the process. */
  readonly peakMiB: number;
}

/**
 * Returns the processor time that a process has used, in seconds; 0 without /proc, and for a process that has ended
 * (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).
 */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return parseCpuSeconds(stat);
}

/**
 * The fields 14 (user time) and 15 (system time). The second field is the name, which can have spaces and parentheses.
 */
export function parseCpuSeconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0] = [fields[11], fields[12]].map((ticks) => Number(ticks ?? 0));
  return (user + system) / TICKS_PER_SECOND;
}

/**
 * Returns how long the processors of the machine have worked since the start of the machine, in seconds of one
 * processor (https://man7.org/linux/man-pages/man5/proc_stat.5.html).
 */
export async function machineCpuSeconds(): Promise<number> {
  return parseBusySeconds(await readFile('/proc/stat', 'utf8').catch(() => ''));
}

/**
 * The sum of the times in the first line but those in which a processor is idle, waits for a disk, or runs another
 * machine.
 */
export function parseBusySeconds(stat: string): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (stat.split('\n')[0] ?? '')
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}

/**
 * Returns the resident memory of a process, and its peak, which Linux reports as VmRSS and VmHWM
 * (https://man7.org/linux/man-pages/man5/proc_pid_status.5.html). Without /proc, returns undefined.
 */
export async function memoryOf(pid: number): Promise<ProcessMemory | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [now, peak] = ['VmRSS', 'VmHWM'].map((name) => new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  return now === undefined || peak === undefined
    ? undefined
    : { nowMiB: Number(now) / 1024, peakMiB: Number(peak) / 1024 };
}
