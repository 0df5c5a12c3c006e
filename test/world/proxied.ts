import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { ControlPlane } from '../envtest/controlplane.ts';
import { startHttpProxy, type HttpProxy } from '../support/http-proxy.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** A way to the API server that a test can cut: a proxy, and a kubeconfig that leads through it. */
export async function throughProxy(
  controlPlane: ControlPlane,
): Promise<{ readonly proxy: TcpProxy; readonly kubeconfigPath: string }> {
  const proxy = await startTcpProxy(Number(new URL(controlPlane.url).port));
  const kubeconfigPath = await leadingTo(controlPlane, { server: `https://127.0.0.1:${proxy.port}` });
  return { proxy, kubeconfigPath };
}

/** A way to the API server on which a test can hold single requests. */
export async function throughHttpProxy(
  controlPlane: ControlPlane,
): Promise<{ readonly proxy: HttpProxy; readonly kubeconfigPath: string }> {
  const proxy = await startHttpProxy({ url: controlPlane.url, ca: await readFile(controlPlane.caPath, 'utf8') });
  const kubeconfigPath = await leadingTo(controlPlane, { server: proxy.url, 'insecure-skip-tls-verify': true });
  return { proxy, kubeconfigPath };
}

async function leadingTo(
  { kubeconfigPath, dir }: ControlPlane,
  way: { readonly server: string; readonly 'insecure-skip-tls-verify'?: boolean },
): Promise<string> {
  const kubeconfig = parse(await readFile(kubeconfigPath, 'utf8')) as { clusters: { cluster: object }[] };
  for (const { cluster } of kubeconfig.clusters) Object.assign(cluster, way);
  const path = join(dir, `proxied-${new URL(way.server).port}.kubeconfig`);
  await writeFile(path, stringify(kubeconfig), { mode: 0o600 });
  return path;
}
