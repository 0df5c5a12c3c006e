import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BinariesMissing, resolveBinaries } from '../../../envtest/binaries/binaries.ts';
import { type CrdManifest, STAND_IN_CRDS, loadCrds } from '../../../envtest/clients/crds.ts';
import type { ControlPlane } from '../../../envtest/control-plane/controlplane.ts';
import type { RunningManager } from '../../manager/manager.ts';
import type { ManagerOptions } from '../../manager/managers.ts';
import { type StartWorldOptions, type World, OUR_CRD, startWorld } from '../../world.ts';
import { CERT_MANAGER_CRDS, createClusterctlRepository } from './clusterctl-repository.ts';
import { initProvider, startInstalledManager } from './installed-provider.ts';
import { CLUSTERCTL_LABEL, simulateMove } from './simulated-move.ts';
import { HANG_LIMIT_MS } from '../../../support/hang-limit.ts';

const NAMESPACE = 'default';

/**
 * Moves all Clusters of the namespace `default`, and the objects that belong to them, to another management cluster.
 * @throws an error with the output of clusterctl, if the move fails
 */
export type Move = (from: ControlPlane, to: ControlPlane) => Promise<void>;

/** This provider, installed so that `clusterctl move` can move its objects between management clusters. */
export interface MovableProvider {
  readonly move: Move;
  /** Starts a test environment in which the provider is installed. Its API server has no webhooks. */
  startWorld(options?: Pick<StartWorldOptions, 'shareAwsWith'>): Promise<World>;
  startManager(world: World, options: Partial<ManagerOptions>): Promise<RunningManager>;
  close(): Promise<void>;
}

/**
 * Returns functions that install the provider with the real `clusterctl init`, start the manager of the installed
 * Deployment, and run the real `clusterctl move`. On a machine without clusterctl, simulates these commands, and writes
 * a message with the given test name to stderr.
 */
export async function findProvider(test: string): Promise<MovableProvider> {
  const directory = await mkdtemp(join(tmpdir(), 'capaf-clusterctl-'));
  const close = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    const { clusterctl } = await resolveBinaries(['clusterctl']);
    const repository = await createClusterctlRepository(directory);
    return {
      move: (from, to) => realMove(clusterctl, from, to),
      startWorld: async (options) => {
        // clusterctl installs neither Cluster API Provider AWS nor cert-manager in this test, so the test creates their
        // CRDs.
        const capa = (await loadCrds(STAND_IN_CRDS)).filter(({ spec }) => spec.group !== 'cluster.x-k8s.io');
        const crds = [...capa.map(asInstalledByClusterctl), CERT_MANAGER_CRDS];
        const world = await startWorld({ ...options, crds, hasRbac: false });
        await initProvider(repository, world);
        return world;
      },
      startManager: startInstalledManager,
      close,
    };
  } catch (error) {
    if (!(error instanceof BinariesMissing)) throw error;
    console.error(`SIMULATED, not the real clusterctl, in "${test}": ${error.message}`);
    return {
      move: simulatedMove,
      startWorld: async (options) =>
        startWorld({ ...options, crds: [...(await loadCrds(STAND_IN_CRDS)).map(asInstalledByClusterctl), OUR_CRD] }),
      startManager: (world, options) => world.startManager(options),
      close,
    };
  }
}

/** Adds the label of clusterctl to a CRD. `clusterctl move` ignores the kinds of CRDs without this label. */
function asInstalledByClusterctl(crd: CrdManifest): CrdManifest {
  const { labels } = crd.metadata as { readonly labels?: object };
  const metadata = { ...crd.metadata, labels: { ...labels, [CLUSTERCTL_LABEL]: '' } };
  return { ...crd, metadata };
}

export const simulatedMove: Move = ({ api }, to) => simulateMove(api, to.api, NAMESPACE);

async function realMove(clusterctl: string, from: ControlPlane, to: ControlPlane): Promise<void> {
  // clusterctl must not read the configuration of the user who runs the tests, and must not look for newer releases.
  const config = join(from.dir, 'clusterctl.yaml');
  await writeFile(config, 'providers: []\n');
  const args = ['move', '--config', config, '--namespace', NAMESPACE];
  const clusters = ['--kubeconfig', from.kubeconfigPath, '--to-kubeconfig', to.kubeconfigPath];
  await new Promise<void>((resolve, reject) => {
    execFile(
      clusterctl,
      [...args, ...clusters, '-v', '1'],
      {
        timeout: HANG_LIMIT_MS,
        env: { ...process.env, CLUSTERCTL_DISABLE_VERSIONCHECK: 'true', XDG_CONFIG_HOME: from.dir },
      },
      (error, stdout, stderr) => {
        if (error === null) resolve();
        else reject(new Error(`running clusterctl ${args.join(' ')}: ${stdout}${stderr}`, { cause: error }));
      },
    );
  });
}
