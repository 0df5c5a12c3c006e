import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { systemClock } from '../../pkg/env/system.ts';
import { createKubeClient } from '../../pkg/kube/client.ts';
import { loadKubeconfig } from '../../pkg/kube/kubeconfig.ts';
import { observe, type ClosableTransport, type TransportRequest } from '../../pkg/kube/transport.ts';
import type { KubeClient } from '../../pkg/kube/types.ts';
import { connect } from '../../pkg/kube/undici-transport.ts';
import type { ControlPlane } from '../envtest/controlplane.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** The product's own client of a control plane, through a network that a test can break. */
export interface Connected {
  readonly client: KubeClient;
  readonly transport: ClosableTransport;
  readonly proxy: TcpProxy;
  /** `GET /api/v1/…` of all requests so far. */
  readonly requests: string[];
  /** Runs before a request is sent. */
  before: (request: TransportRequest) => Promise<void>;
  close(): Promise<void>;
}

export async function connectThroughProxy(controlPlane: ControlPlane): Promise<Connected> {
  const proxy = await startTcpProxy(Number(new URL(controlPlane.url).port));
  const kubeconfig = parse(await readFile(controlPlane.kubeconfigPath, 'utf8')) as {
    clusters: { cluster: { server: string } }[];
  };
  for (const { cluster } of kubeconfig.clusters) cluster.server = `https://127.0.0.1:${proxy.port}`;
  const path = join(controlPlane.dir, `proxied-${proxy.port}.kubeconfig`);
  await writeFile(path, stringify(kubeconfig));
  const transport = connect({ load: () => loadKubeconfig({ path, env: {}, home: '/' }), clock: systemClock });
  const observed = observe(transport, { userAgent: 'capaf-test/0' });
  const connected: Connected = {
    client: createKubeClient({
      clock: systemClock,
      transport: {
        host: transport.host,
        async send(request) {
          connected.requests.push(`${request.method} ${request.path}`);
          await connected.before(request);
          return observed.send(request);
        },
      },
    }),
    transport,
    proxy,
    requests: [],
    before: () => Promise.resolve(),
    async close() {
      await transport.close();
      await proxy.close();
    },
  };
  return connected;
}
