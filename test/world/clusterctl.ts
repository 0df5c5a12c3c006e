import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { BinariesMissing, resolveBinaries } from '../envtest/binaries.ts';
import type { ControlPlane } from '../envtest/controlplane.ts';
import { imitateMove } from './imitated-move.ts';

/** A move waits for nothing but the API servers. */
const TIMEOUT_MS = 120_000;
const NAMESPACE = 'default';

/**
 * Moves all Clusters of the default namespace, and what belongs to them, to another management cluster.
 * @throws with all that was said, where it does not succeed
 */
export type Move = (from: ControlPlane, to: ControlPlane) => Promise<void>;

/** `clusterctl move`, the real one; without Go its steps, imitated, which is said loudly in the name of `test`. */
export async function findMove(test: string): Promise<Move> {
  try {
    const { clusterctl } = await resolveBinaries(['clusterctl']);
    return (from, to) => realMove(clusterctl, from, to);
  } catch (error) {
    if (!(error instanceof BinariesMissing)) throw error;
    console.error(`IMITATED, not the real clusterctl, in "${test}": ${error.message}`);
    return imitatedMove;
  }
}

export const imitatedMove: Move = ({ api }, to) => imitateMove(api, to.api, NAMESPACE);

async function realMove(clusterctl: string, from: ControlPlane, to: ControlPlane): Promise<void> {
  // Neither the user's settings nor a newer release have a say.
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
        else reject(new Error(`clusterctl ${args.join(' ')}: ${stdout}${stderr}`, { cause: error }));
      },
    );
  });
}
