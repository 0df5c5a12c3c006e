import { cp, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { resolveBinaries } from '../../envtest/binaries/binaries.ts';
import { cachedFromModule } from '../../envtest/binaries/module-files.ts';
import { CLUSTER_API_OPERATOR_VERSION } from '../../envtest/binaries/versions.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { applyCrds } from '../../envtest/clients/crds.ts';
import { freePorts } from '../../envtest/control-plane/ports.ts';
import { waitUntilUp } from '../../envtest/control-plane/process.ts';
import { eventually } from '../../support/eventually.ts';
import type { World } from '../../world/world.ts';

const NAME_LABEL = 'provider.cluster.x-k8s.io/name';
const VERSION_LABEL = 'provider.cluster.x-k8s.io/version';

export interface Release {
  readonly provider: string;
  readonly namespace: string;
  readonly version: string;
}

/**
 * Returns the spec of a provider object of the Cluster API Operator, e.g. of an InfrastructureProvider. The spec has a
 * label selector for the ConfigMap with the files of the release.
 */
export const specOf = ({ provider, version }: Release): object => ({
  version,
  fetchConfig: { selector: { matchLabels: { [NAME_LABEL]: provider, [VERSION_LABEL]: version } } },
});

/** The real cluster-api-operator. */
export interface Operator {
  /**
   * Writes the files of a release to a ConfigMap, from which the Cluster API Operator installs the release. The
   * documentation of the operator describes this ConfigMap for clusters without access to the Internet. `folder`
   * contains the metadata.yaml of the release, and `components` is the content of its components file.
   */
  publish(release: Release, folder: string, components: string): Promise<void>;
  /**
   * Waits until the Cluster API Operator has installed a version of a provider. Then reports the Deployment as
   * available, because no kubelet runs, and waits until the provider is Ready.
   */
  waitUntilInstalled(provider: string, deployment: string, version: string): Promise<RawObject>;
}

/**
 * Starts the Cluster API Operator without its admission webhooks, which only set defaults.
 * @throws {BinariesMissing} if the Cluster API Operator or its CRDs are not in the cache and Go is not installed
 */
export async function startOperator(world: World): Promise<Operator> {
  const { controlPlane } = world;
  const { api } = controlPlane;
  const { 'cluster-api-operator': file } = await resolveBinaries(['cluster-api-operator']);
  await applyCrds(api, await operatorCrds());
  const [healthPort, metricsPort, webhookPort] = await freePorts(3);
  const process = await controlPlane.run({
    name: 'cluster-api-operator',
    file,
    // prettier-ignore
    args: [
      '--kubeconfig', controlPlane.kubeconfigPath, '--health-addr', `127.0.0.1:${healthPort}`,
      '--diagnostics-address', `127.0.0.1:${metricsPort}`, '--insecure-diagnostics', '--profiler-address=',
      '--webhook-port', String(webhookPort), '--webhook-cert-dir', await copyCertificate(controlPlane),
    ],
  });
  const readyz = `http://127.0.0.1:${healthPort}/readyz`;
  await waitUntilUp([process], `${readyz} answering 200`, async () => (await fetch(readyz)).ok);
  return {
    publish: async ({ provider, namespace, version }, folder, components) => {
      await world.apply({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: `${provider}-${version}`,
          namespace,
          labels: { [NAME_LABEL]: provider, [VERSION_LABEL]: version },
          annotations: { 'provider.cluster.x-k8s.io/compressed': 'true' },
        },
        data: { metadata: await readFile(join(folder, 'metadata.yaml'), 'utf8') },
        binaryData: { components: gzipSync(components).toString('base64') },
      });
    },
    waitUntilInstalled: async (provider, deployment, version) => {
      const installed = await waitFor(world, provider, ({ status }) => status?.['installedVersion'] === version);
      const conditions = [{ type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', message: '' }];
      await api.patch(`${deployment}/status`, { status: { conditions } });
      await waitFor(world, provider, ({ status }) =>
        Boolean(status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True')),
      );
      return installed;
    },
  };
}

const waitFor = ({ controlPlane: { api } }: World, path: string, isIt: (provider: RawObject) => boolean) =>
  eventually(
    async () => {
      const provider = await api.get(path);
      if (!isIt(provider)) throw new Error(JSON.stringify(provider.status));
      return provider;
    },
    { what: path },
  );

/**
 * Copies the certificate of the API server to the file names that the Cluster API Operator expects. The operator does
 * not start without a certificate for its webhooks.
 */
async function copyCertificate({ dir, caPath }: World['controlPlane']): Promise<string> {
  const directory = join(dir, 'operator-certificate');
  await mkdir(directory);
  await cp(caPath, join(directory, 'tls.crt'));
  await cp(join(dirname(caPath), 'apiserver.key'), join(directory, 'tls.key'));
  return directory;
}

const operatorCrds = (): Promise<string> =>
  cachedFromModule(
    {
      module: `sigs.k8s.io/cluster-api-operator@${CLUSTER_API_OPERATOR_VERSION}`,
      name: `cluster-api-operator-${CLUSTER_API_OPERATOR_VERSION}-crds`,
      neededBy: 'cluster-api-operator',
    },
    (module, directory) => cp(join(module, 'config/crd/bases'), directory, { recursive: true }),
  );
