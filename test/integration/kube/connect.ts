import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { createKubeClient, type KubeClient, type TransportRequest } from 'controller-runtime/client';
import { systemClock } from 'controller-runtime/env';
import { connect, loadKubeconfig } from 'controller-runtime/kubeconfig';
import type { CrdManifest } from '../../envtest/clients/crds.ts';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { startTcpProxy, type TcpProxy } from '../../support/proxies/tcp-proxy.ts';

/** A client of `controller-runtime` that is connected to an API server through a TCP proxy. */
export interface Connected {
  readonly client: KubeClient;
  readonly proxy: TcpProxy;
  /** The method and path of each request that the client has made so far, e.g. `GET /api/v1/…`. */
  readonly requests: string[];
  /** Called before a request; the client sends it when the returned promise resolves. */
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
  const connected: Connected = {
    client: createKubeClient({
      clock: systemClock,
      transport: {
        host: transport.host,
        async send(request) {
          connected.requests.push(`${request.method} ${request.path}`);
          await connected.before(request);
          return transport.send(request);
        },
      },
    }),
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

/** A CRD of a namespaced kind with any fields and with status as a subresource. */
export function crdOf(
  group: string,
  plural: string,
  kind: string,
  versions: Readonly<Record<string, { readonly served: boolean; readonly storage: boolean }>>,
): CrdManifest {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: Object.entries(versions).map(([name, flags]) => ({
        name,
        ...flags,
        subresources: { status: {} },
        schema,
      })),
    },
  };
  return crd;
}
