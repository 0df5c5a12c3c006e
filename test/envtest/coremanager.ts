import { execFile } from 'node:child_process';
import { access, cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BinariesMissing, cacheRoot, resolveBinaries, toStderr, type Report } from './binaries.ts';
import type { ControlPlane } from './controlplane.ts';
import { applyCrds, loadCrds, type CustomResourceDefinition } from './crds.ts';
import { freePorts } from './ports.ts';
import { untilUp, type ServerProcess } from './process.ts';
import { CLUSTER_API_VERSION } from './versions.ts';

/** What Cluster API's kustomization adds to its CRDs: which API version speaks which contract. */
const CONTRACT_LABELS = { 'cluster.x-k8s.io/v1beta1': 'v1beta1', 'cluster.x-k8s.io/v1beta2': 'v1beta2' };

/**
 * Starts Cluster API's real core manager, with its real CRDs in the place of our stand-in for Cluster (without webhooks:
 * no defaulting, no validation beyond the schema, no conversion). Resolves when it is ready.
 * @throws {BinariesMissing} without Go, unless it was built before
 */
export async function startCoreManager(controlPlane: ControlPlane, report: Report = toStderr): Promise<ServerProcess> {
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
      // It insists on serving webhooks, which nobody calls: the API server's certificate will do.
      '--webhook-port', String(webhookPort), '--webhook-cert-dir', join(controlPlane.dir, 'certs'),
      '--webhook-cert-name', 'apiserver.crt', '--webhook-key-name', 'apiserver.key',
      '--skip-crd-migration-phases', 'StorageVersionMigration,CleanupManagedFields',
    ],
  });
  const readyz = `http://127.0.0.1:${healthPort}/readyz`;
  try {
    await untilUp([manager], `${readyz} answering 200`, async () => (await fetch(readyz)).ok);
  } catch (error) {
    throw new Error(`starting Cluster API's core manager:\n${manager.tail()}`, { cause: error });
  }
  return manager;
}

/** Cluster API's own CRDs, with the contract labels of a release. */
export async function coreCrds(): Promise<CustomResourceDefinition[]> {
  const crds = await loadCrds(await crdDirectory());
  return crds.map((crd) => ({
    ...crd,
    metadata: { ...crd.metadata, labels: { 'cluster.x-k8s.io/provider': 'cluster-api', ...CONTRACT_LABELS } },
  }));
}

/** They stand in the module that the manager is built from; the copy in the cache spares later runs the Go toolchain. */
async function crdDirectory(): Promise<string> {
  const root = cacheRoot();
  const cached = join(root, `cluster-api-${CLUSTER_API_VERSION}-crds`);
  if (await exists(cached)) return cached;
  const source = await promisify(execFile)('go', [
    'mod',
    'download',
    '-json',
    `sigs.k8s.io/cluster-api@${CLUSTER_API_VERSION}`,
  ]).then(
    ({ stdout }) => JSON.parse(stdout) as { Dir: string },
    (error: unknown) => {
      throw new BinariesMissing(['cluster-api-manager'], [`its CRDs, by "go mod download": ${String(error)}`]);
    },
  );
  await mkdir(root, { recursive: true });
  const temporary = await mkdtemp(join(root, 'tmp-crds-'));
  try {
    await cp(join(source.Dir, 'config', 'crd', 'bases'), join(temporary, 'bases'), { recursive: true });
    // Whoever comes second finds the same files there.
    await rename(join(temporary, 'bases'), cached).catch(async (error: unknown) => {
      if (!(await exists(cached))) throw error;
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return cached;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
