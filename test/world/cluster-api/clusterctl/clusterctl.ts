import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveBinaries } from '../../../envtest/binaries/binaries.ts';
import { type CrdManifest, STAND_IN_CRDS, loadCrds } from '../../../envtest/clients/crds.ts';
import type { ControlPlane } from '../../../envtest/control-plane/controlplane.ts';
import { runProgram } from '../../../support/run-program.ts';
import { type StartWorldOptions, type World, startWorld } from '../../world.ts';
import { CERT_MANAGER_CRDS, createClusterctlRepository } from './clusterctl-repository.ts';
import { initProvider } from './installed-provider.ts';

const NAMESPACE = 'default';
/** The label that clusterctl sets on the CRDs that it installs. `clusterctl move` ignores other kinds. */
const CLUSTERCTL_LABEL = 'clusterctl.cluster.x-k8s.io';

/** This provider, installed so that `clusterctl move` can move its objects between management clusters. */
export interface MovableProvider {
  /**
   * Moves all Clusters of the namespace `default`, and the objects that belong to them, to another management cluster.
   * @throws an error with the output of clusterctl, if the move fails
   */
  move(from: ControlPlane, to: ControlPlane): Promise<void>;
  /** Starts a test environment in which the provider is installed. Its API server has no webhooks. */
  startWorld(options?: Pick<StartWorldOptions, 'shareAwsWith'>): Promise<World>;
  close(): Promise<void>;
}

/**
 * Returns functions that install the provider with the real `clusterctl init` and run the real `clusterctl move`.
 * @throws {BinariesMissing} if clusterctl, kubectl, or the release of Cluster API's core is missing
 */
export async function findProvider(): Promise<MovableProvider> {
  const { clusterctl } = await resolveBinaries(['clusterctl']);
  const directory = await mkdtemp(join(tmpdir(), 'capaf-clusterctl-'));
  const repository = await createClusterctlRepository(directory);
  return {
    move: (from, to) => move(clusterctl, from, to),
    startWorld: async (options) => {
      // clusterctl installs neither Cluster API Provider AWS nor cert-manager in this test, so the test creates their
      // CRDs.
      const capa = (await loadCrds(STAND_IN_CRDS)).filter(({ spec }) => spec.group !== 'cluster.x-k8s.io');
      const crds = [...capa.map(asInstalledByClusterctl), CERT_MANAGER_CRDS];
      const world = await startWorld({ ...options, crds, hasRbac: false });
      await initProvider(repository, world);
      return world;
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

function asInstalledByClusterctl(crd: CrdManifest): CrdManifest {
  const { labels } = crd.metadata as { readonly labels?: object };
  const metadata = { ...crd.metadata, labels: { ...labels, [CLUSTERCTL_LABEL]: '' } };
  return { ...crd, metadata };
}

async function move(clusterctl: string, from: ControlPlane, to: ControlPlane): Promise<void> {
  // clusterctl must not read the configuration of the user who runs the tests, and must not look for newer releases.
  const config = join(from.dir, 'clusterctl.yaml');
  await writeFile(config, 'providers: []\n');
  const clusters = ['--kubeconfig', from.kubeconfigPath, '--to-kubeconfig', to.kubeconfigPath];
  const args = ['move', '--config', config, '--namespace', NAMESPACE, ...clusters, '-v', '1'];
  const env = { ...process.env, CLUSTERCTL_DISABLE_VERSIONCHECK: 'true', XDG_CONFIG_HOME: from.dir };
  const { code, stdout, stderr } = await runProgram(clusterctl, args, { name: 'clusterctl', env });
  if (code !== 0) throw new Error(`running clusterctl ${args.join(' ')}: ${stdout}${stderr}`);
}
