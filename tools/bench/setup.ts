import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { KUBERNETES_VERSION } from '../../test/envtest/binaries/versions.ts';
import { CALL_MS } from './bench-world.ts';
import type { BenchOptions } from './options.ts';

/** Returns a Markdown list of the machine, the software, and the settings of the benchmark. */
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
