import { readFile, writeFile } from 'node:fs/promises';
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { KUBERNETES_VERSION } from '../envtest/binaries/versions.ts';
import { CALL_MS, IDLE_MS, IDLE_SYNC_PERIOD_MS, RESTART_MS } from './run.ts';

const PERFORMANCE_DOC = fileURLToPath(new URL('../../docs/performance.md', import.meta.url));
const BEGIN = '<!-- make bench writes from here -->';
const END = '<!-- to here -->';

/** Returns a Markdown list of the machine, the software and the settings of the benchmark. */
export function describeSetup(runs: number, nodeOptions: string): string {
  const [cpu] = cpus();
  const gib = Math.round(totalmem() / 2 ** 30);
  const [load = 0] = loadavg();
  return [
    `- Machine: ${cpus().length} × ${cpu?.model ?? 'an unknown CPU'}, ${gib} GiB, ${platform()} ${release()} ${arch()}, for everything below together; load at the beginning ${load.toFixed(1)}`,
    `- Node.js ${process.version}${nodeOptions === '' ? '' : ` with NODE_OPTIONS ${nodeOptions}`}, Kubernetes ${KUBERNETES_VERSION}`,
    `- Real: the built manager with its default flags, kube-apiserver and etcd, each a process of its own, over loopback`,
    `- Emulated: EKS, IAM and STS, one process; ${CALL_MS} ms a call, one creation or deletion of a profile at a time in a cluster`,
    `- Warmed up: a manager that has created and deleted one profile of the region since its start; the second column only`,
    `- Idle: ${IDLE_MS / 1000} s with \`--sync-period ${IDLE_SYNC_PERIOD_MS / 1000}s\`; restarted: ${RESTART_MS / 1000} s after its queue is empty`,
    `- ${runs === 1 ? 'One run' : `Medians of ${runs} runs`}`,
  ].join('\n');
}

/** Replaces the measured numbers in docs/performance.md with the text, and returns the path of docs/performance.md. */
export async function writePerformanceDoc(text: string): Promise<string> {
  const before = await readFile(PERFORMANCE_DOC, 'utf8');
  const [begin, end] = [before.indexOf(BEGIN), before.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`${PERFORMANCE_DOC} lacks the marks around the numbers`);
  const after = `${before.slice(0, begin)}${BEGIN}\n\n${text}\n\n${before.slice(end)}`;
  const options = await resolveConfig(PERFORMANCE_DOC);
  await writeFile(PERFORMANCE_DOC, await format(after, { ...options, filepath: PERFORMANCE_DOC }));
  return PERFORMANCE_DOC;
}
