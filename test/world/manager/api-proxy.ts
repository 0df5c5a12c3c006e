import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { MANAGER_ACCOUNT } from '../../envtest/control-plane/pool.ts';
import { startHttpProxy, type HttpProxy } from '../../support/proxies/http-proxy.ts';
import { startTcpProxy, type TcpProxy } from '../../support/proxies/tcp-proxy.ts';

/**
 * Starts a TCP proxy to the API server, with which a test can cut the connections of a manager. Writes a kubeconfig
 * with which the manager connects through the proxy.
 */
export async function startApiTcpProxy(
  controlPlane: ControlPlane,
): Promise<{ readonly proxy: TcpProxy; readonly kubeconfigPath: string }> {
  const proxy = await startTcpProxy(Number(new URL(controlPlane.url).port));
  const kubeconfigPath = await writeKubeconfig(controlPlane, { server: `https://127.0.0.1:${proxy.port}` });
  return { proxy, kubeconfigPath };
}

/**
 * Starts an HTTP proxy to the API server, with which a test can delay single requests of a manager. Writes a kubeconfig
 * with which the manager connects through the proxy.
 */
export async function startApiHttpProxy(
  controlPlane: ControlPlane,
): Promise<{ readonly proxy: HttpProxy; readonly kubeconfigPath: string }> {
  const proxy = await startHttpProxy({ url: controlPlane.url, ca: await readFile(controlPlane.caPath, 'utf8') });
  const kubeconfigPath = await writeKubeconfig(controlPlane, { server: proxy.url, 'insecure-skip-tls-verify': true });
  return { proxy, kubeconfigPath };
}

async function writeKubeconfig(
  controlPlane: ControlPlane,
  proxied: { readonly server: string; readonly 'insecure-skip-tls-verify'?: boolean },
): Promise<string> {
  const { kubeconfigPath } = controlPlane.user(MANAGER_ACCOUNT);
  const kubeconfig = parse(await readFile(kubeconfigPath, 'utf8')) as {
    clusters: { cluster: object }[];
  };
  for (const { cluster } of kubeconfig.clusters) Object.assign(cluster, proxied);
  const path = join(controlPlane.dir, `proxied-${new URL(proxied.server).port}.kubeconfig`);
  await writeFile(path, stringify(kubeconfig), { mode: 0o600 });
  return path;
}
