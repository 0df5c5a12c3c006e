import { readFile } from 'node:fs/promises';

/**
 * The number of clock ticks in a second (USER_HZ), the unit of the times in /proc. It is 100 on every architecture that
 * Node.js supports.
 */
const TICKS_PER_SECOND = 100;

/** The memory of a process in MiB. */
export interface ProcessMemory {
  readonly nowMiB: number;
  /** The highest resident memory since the start of the process. */
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
 * Returns the sum of the user time and the system time (fields 14 and 15) in the text of /proc/PID/stat, in seconds.
 * The function counts the fields from the end of the program name, because the name can contain spaces and parentheses.
 */
function parseCpuSeconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0] = [fields[11], fields[12]].map((ticks) => Number(ticks ?? 0));
  return (user + system) / TICKS_PER_SECOND;
}

/**
 * Returns the busy time of all processors since the start of the machine, in seconds
 * (https://man7.org/linux/man-pages/man5/proc_stat.5.html).
 */
export async function machineCpuSeconds(): Promise<number> {
  return parseBusySeconds(await readFile('/proc/stat', 'utf8').catch(() => ''));
}

/**
 * Returns the busy time of all processors in seconds, from the first line of /proc/stat. It is the sum of all times
 * except those in which a processor was idle, waited for a disk, or ran another virtual machine.
 */
function parseBusySeconds(stat: string): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (stat.split('\n')[0] ?? '')
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}

/**
 * Returns the resident memory of a process, and its peak, which Linux reports as VmRSS and VmHWM
 * (https://man7.org/linux/man-pages/man5/proc_pid_status.5.html). Returns undefined without /proc, and for a process
 * that has ended.
 */
export async function memoryOf(pid: number): Promise<ProcessMemory | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [now, peak] = ['VmRSS', 'VmHWM'].map((name) => new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  return now === undefined || peak === undefined
    ? undefined
    : { nowMiB: Number(now) / 1024, peakMiB: Number(peak) / 1024 };
}
