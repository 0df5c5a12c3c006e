import { readFile, writeFile } from 'node:fs/promises';
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { KUBERNETES_VERSION } from '../envtest/versions.ts';
import { CALL_MS, IDLE_MS, IDLE_SYNC_PERIOD_MS, RESTART_MS } from './run.ts';

const DOCUMENT = fileURLToPath(new URL('../../docs/performance.md', import.meta.url));
const BEGIN = '<!-- make bench writes from here -->';
const END = '<!-- to here -->';

/** What the numbers depend on. */
export function setUp(runs: number, nodeOptions: string): string {
  const [cpu] = cpus();
  const gib = Math.round(totalmem() / 2 ** 30);
  const [load = 0] = loadavg();
  return [
    `- Machine: ${cpus().length} × ${cpu?.model ?? 'an unknown CPU'}, ${gib} GiB, ${platform()} ${release()} ${arch()}, for everything below together; load at the beginning ${load.toFixed(1)}`,
    `- Node.js ${process.version}${nodeOptions === '' ? '' : ` with NODE_OPTIONS ${nodeOptions}`}, Kubernetes ${KUBERNETES_VERSION}`,
    `- Real: the built manager with its default flags, kube-apiserver and etcd, each a process of its own, over loopback`,
    `- Emulated: EKS, IAM and STS, one process; ${CALL_MS} ms a call, one creation or deletion of a profile at a time in a cluster`,
    `- Practised: a manager that has made and deleted one profile of the region since its start, the second column alone`,
    `- At rest: ${IDLE_MS / 1000} s with \`--sync-period ${IDLE_SYNC_PERIOD_MS / 1000}s\`; restarted: the ${RESTART_MS / 1000} s from when it has settled`,
    `- ${runs === 1 ? 'One run' : `Medians of ${runs} runs`}`,
  ].join('\n');
}

/** Puts the numbers into docs/performance.md, in the place of the former ones. */
export async function writeDocument(text: string): Promise<string> {
  const before = await readFile(DOCUMENT, 'utf8');
  const [begin, end] = [before.indexOf(BEGIN), before.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`${DOCUMENT} has lost the marks between which the numbers belong`);
  const after = `${before.slice(0, begin)}${BEGIN}\n\n${text}\n\n${before.slice(end)}`;
  const options = await resolveConfig(DOCUMENT);
  await writeFile(DOCUMENT, await format(after, { ...options, filepath: DOCUMENT }));
  return DOCUMENT;
}
