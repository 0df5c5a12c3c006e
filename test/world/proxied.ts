import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { ControlPlane } from '../envtest/controlplane.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** A way to the API server that a test can cut: a proxy, and a kubeconfig that leads through it. */
export async function throughProxy(
  controlPlane: ControlPlane,
): Promise<{ readonly proxy: TcpProxy; readonly kubeconfigPath: string }> {
  const proxy = await startTcpProxy(Number(new URL(controlPlane.url).port));
  const kubeconfig = parse(await readFile(controlPlane.kubeconfigPath, 'utf8')) as {
    clusters: { cluster: { server: string } }[];
  };
  for (const { cluster } of kubeconfig.clusters) cluster.server = `https://127.0.0.1:${proxy.port}`;
  const kubeconfigPath = join(controlPlane.dir, `proxied-${proxy.port}.kubeconfig`);
  await writeFile(kubeconfigPath, stringify(kubeconfig), { mode: 0o600 });
  return { proxy, kubeconfigPath };
}
