import { readFile, writeFile } from 'node:fs/promises';
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { KUBERNETES_VERSION } from '../envtest/binaries/versions.ts';
import { CALL_MS } from './bench-world.ts';
import type { BenchOptions, PartName } from './options.ts';

const PERFORMANCE_DOC = fileURLToPath(new URL('../../docs/performance.md', import.meta.url));

/** Returns a Markdown list of the machine, the software and the settings of the benchmark. */
export function describeSetup({ runs, nodeOptions, flags }: BenchOptions): string {
  const [cpu] = cpus();
  const gib = Math.round(totalmem() / 2 ** 30);
  const [load = 0] = loadavg();
  const machine = `${cpus().length} × ${cpu?.model ?? 'an unknown CPU'}, ${gib} GiB, ${platform()} ${release()} ${arch()}`;
  return [
    `- Machine: ${machine}, for all processes together; load at the beginning ${load.toFixed(1)}`,
    `- Node.js ${process.version}${nodeOptions === '' ? '' : ` with NODE_OPTIONS ${nodeOptions}`}, Kubernetes ${KUBERNETES_VERSION}`,
    `- Processes of their own, over loopback: the built manager, kube-apiserver, etcd, the emulator, the bench`,
    `- Manager: started just before, with the command line of the image and the flags of the Deployment${['', ...flags].join(' ')}`,
    `- Emulator: EKS, IAM and STS over HTTP, ${CALL_MS} ms a call, one creation or deletion at a time in a cluster`,
    `- ${runs === 1 ? 'One run' : `Medians of ${runs} runs`}; the time begins when all objects are sent at once; bold figures miss their aim`,
  ].join('\n');
}

/**
 * Replaces the benchmark results of one part in docs/performance.md with `text`. Returns the path of
 * docs/performance.md.
 */
export async function writePerformanceDoc(part: PartName, text: string): Promise<string> {
  const after = withSection(await readFile(PERFORMANCE_DOC, 'utf8'), part, text);
  const options = await resolveConfig(PERFORMANCE_DOC);
  await writeFile(PERFORMANCE_DOC, await format(after, { ...options, filepath: PERFORMANCE_DOC }));
  return PERFORMANCE_DOC;
}

/**
 * Returns the document with `text` as the benchmark results of one part. Two HTML comments in the document mark where
 * the results of the part begin and end.
 * @throws if the document lacks the two HTML comments
 */
export function withSection(document: string, part: PartName, text: string): string {
  const [beginMark, endMark] = [`<!-- make bench writes ${part} from here -->`, '<!-- to here -->'];
  const begin = document.indexOf(beginMark);
  const end = document.indexOf(endMark, begin);
  if (begin === -1 || end === -1) throw new Error(`docs/performance.md lacks the marks around the figures of ${part}`);
  return `${document.slice(0, begin)}${beginMark}\n\n${text}\n\n${document.slice(end)}`;
}
