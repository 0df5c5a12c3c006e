import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { BinariesMissing, resolveBinaries } from '../../envtest/binaries/binaries.ts';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { simulateMove } from './simulated-move.ts';

/** The timeout of `clusterctl move`, which waits for nothing except answers of the two API servers. */
const TIMEOUT_MS = 120_000;
const NAMESPACE = 'default';

/**
 * Moves all Clusters of the namespace `default`, and the objects that belong to them, to another management cluster.
 * @throws if the move fails, with the output of clusterctl
 */
export type Move = (from: ControlPlane, to: ControlPlane) => Promise<void>;

/**
 * Returns a function that runs the real `clusterctl move`. If the binary is missing, returns a simulation, and writes a
 * message with the given test name to stderr.
 */
export async function findMove(test: string): Promise<Move> {
  try {
    const { clusterctl } = await resolveBinaries(['clusterctl']);
    return (from, to) => realMove(clusterctl, from, to);
  } catch (error) {
    if (!(error instanceof BinariesMissing)) throw error;
    console.error(`SIMULATED, not the real clusterctl, in "${test}": ${error.message}`);
    return simulatedMove;
  }
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
        timeout: TIMEOUT_MS,
        env: { ...process.env, CLUSTERCTL_DISABLE_VERSIONCHECK: 'true', XDG_CONFIG_HOME: from.dir },
      },
      (error, stdout, stderr) => {
        if (error === null) resolve();
        else reject(new Error(`running clusterctl ${args.join(' ')}: ${stdout}${stderr}`, { cause: error }));
      },
    );
  });
}
