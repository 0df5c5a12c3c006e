import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { resolveBinaries, reportToStderr, type ProgressReporter } from '../binaries/binaries.ts';
import { cachedFromClusterApi } from '../binaries/module-files.ts';
import type { ControlPlane } from './controlplane.ts';
import { applyCrds, loadCrds, type CrdManifest } from '../clients/crds.ts';
import { freePorts } from './ports.ts';
import { waitUntilUp, type ServerProcess } from './process.ts';

/**
 * The labels that a release of Cluster API adds to its CRDs. Each label contains a contract version of Cluster API, and
 * its value is the API version of the CRD for that contract.
 */
const CONTRACT_LABELS = { 'cluster.x-k8s.io/v1beta1': 'v1beta1', 'cluster.x-k8s.io/v1beta2': 'v1beta2' };

/**
 * Starts the real core manager of Cluster API. First applies the real CRDs of Cluster API, which replace the simplified
 * CRD of Cluster. The API server does not call the admission webhooks of the core manager, so the API server validates
 * objects only against the schema, and sets no defaults from webhooks. With `convertsObjects`, the API server lets the
 * core manager convert objects between API versions, as in a real installation. Resolves when the core manager is
 * ready.
 * @throws {BinariesMissing} if the core manager or its CRDs are not in the cache and Go is not installed
 */
export async function startCoreManager(
  controlPlane: ControlPlane,
  report: ProgressReporter = reportToStderr,
  convertsObjects = false,
): Promise<ServerProcess> {
  const { 'cluster-api-manager': file } = await resolveBinaries(['cluster-api-manager'], { report });
  await applyCrds(controlPlane.api, ...(await coreCrds()));
  const [webhookPort, healthPort, diagnosticsPort] = await freePorts(3);
  const manager = await controlPlane.run({
    name: 'cluster-api-manager',
    file,
    // prettier-ignore
    args: [
      '--kubeconfig', controlPlane.kubeconfigPath, '--leader-elect=false',
      '--health-addr', `127.0.0.1:${healthPort}`,
      '--diagnostics-address', `127.0.0.1:${diagnosticsPort}`, '--insecure-diagnostics',
      // The core manager does not start without a certificate for its webhooks, although the API server calls none of
      // its admission webhooks. The core manager gets the certificate of the API server.
      '--webhook-port', String(webhookPort), '--webhook-cert-dir', dirname(controlPlane.caPath),
      '--webhook-cert-name', 'apiserver.crt', '--webhook-key-name', 'apiserver.key',
      '--skip-crd-migration-phases', 'StorageVersionMigration,CleanupManagedFields',
    ],
  });
  const readyz = `http://127.0.0.1:${healthPort}/readyz`;
  try {
    await waitUntilUp([manager], `${readyz} answering 200`, async () => (await fetch(readyz)).ok);
  } catch (error) {
    throw new Error(`starting the core manager of Cluster API:\n${manager.tail()}`, { cause: error });
  }
  if (convertsObjects) await convertAt(controlPlane, `https://127.0.0.1:${webhookPort}/convert`);
  return manager;
}

/**
 * Configures the conversion webhook of all CRDs of Cluster API with this URL. The core manager serves the URL with the
 * API server's certificate, so the CA bundle consists of the API server's certificate file.
 */
async function convertAt({ api, caPath }: ControlPlane, url: string): Promise<void> {
  const caBundle = await readFile(join(dirname(caPath), 'apiserver.crt'), 'base64');
  const conversion = {
    strategy: 'Webhook',
    webhook: { clientConfig: { url, caBundle, service: null }, conversionReviewVersions: ['v1'] },
  };
  for (const { metadata } of await coreCrds())
    await api.patch(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`, {
      spec: { conversion },
    });
}

export async function coreCrds(): Promise<CrdManifest[]> {
  const crds = await loadCrds(await cachedFromClusterApi('crds', copyCrds));
  return crds.map((crd) => ({
    ...crd,
    metadata: { ...crd.metadata, labels: { 'cluster.x-k8s.io/provider': 'cluster-api', ...CONTRACT_LABELS } },
  }));
}

const copyCrds = (module: string, directory: string): Promise<void> =>
  cp(join(module, 'core', 'config', 'crd', 'bases'), directory, { recursive: true });

/**
 * Returns a directory with the files that clusterctl reads from a release of Cluster API: core-components.yaml and
 * metadata.yaml.
 * @throws {BinariesMissing} if the files are not in the cache and Go is not installed
 */
export const coreRelease = (): Promise<string> =>
  cachedFromClusterApi('release', async (module, directory) => {
    const { kubectl } = await resolveBinaries(['kubectl']);
    const { stdout } = await promisify(execFile)(kubectl, ['kustomize', join(module, 'core', 'config', 'default')], {
      maxBuffer: 10e6,
    });
    await writeFile(join(directory, 'core-components.yaml'), stdout);
    await cp(join(module, 'metadata.yaml'), join(directory, 'metadata.yaml'));
  });
