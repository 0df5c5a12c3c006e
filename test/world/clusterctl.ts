import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { resolveBinaries } from '../envtest/binaries.ts';
import type { ControlPlane } from '../envtest/controlplane.ts';

/** A move waits for nothing but the API servers. */
const TIMEOUT_MS = 120_000;

export interface MoveResult {
  readonly code: number;
  /** What it said on both streams. */
  readonly output: string;
}

/** Label of a CRD that `clusterctl` has installed: it moves objects of such kinds alone. */
export const CLUSTERCTL_LABEL = 'clusterctl.cluster.x-k8s.io';

/**
 * `clusterctl move`, the real one, of all Clusters of a namespace and what belongs to them.
 * @throws {BinariesMissing} without Go, unless it was built before
 */
export async function clusterctlMove(from: ControlPlane, to: ControlPlane, namespace = 'default'): Promise<MoveResult> {
  const { clusterctl } = await resolveBinaries(['clusterctl']);
  // Neither the user's settings nor a newer release have a say.
  const config = join(from.dir, 'clusterctl.yaml');
  await writeFile(config, 'providers: []\n');
  const args = ['move', '--config', config, '--namespace', namespace];
  const clusters = ['--kubeconfig', from.kubeconfigPath, '--to-kubeconfig', to.kubeconfigPath];
  return new Promise((resolve, reject) => {
    execFile(
      clusterctl,
      [...args, ...clusters, '-v', '1'],
      {
        timeout: TIMEOUT_MS,
        env: { ...process.env, CLUSTERCTL_DISABLE_VERSIONCHECK: 'true', XDG_CONFIG_HOME: from.dir },
      },
      (error, stdout, stderr) => {
        const output = `${stdout}${stderr}`;
        if (error === null) resolve({ code: 0, output });
        else if (typeof error.code === 'number') resolve({ code: error.code, output });
        else reject(new Error(`clusterctl ${args.join(' ')} did not end by itself: ${output}`, { cause: error }));
      },
    );
  });
}
