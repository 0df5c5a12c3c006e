import { join } from 'node:path';
import { type ProgramResult, runProgram } from '../../support/run-program.ts';
import type { ControlPlane } from '../control-plane/controlplane.ts';

/**
 * Runs the real kubectl as the administrator, and returns its exit code and output. A nonzero exit code is not an
 * error.
 * @throws if kubectl does not exit within `HANG_LIMIT_MS`
 */
export function kubectl(
  controlPlane: ControlPlane,
  args: readonly string[],
  { stdin = '' }: { readonly stdin?: string } = {},
): Promise<ProgramResult> {
  // Because of KUBERC and KUBECACHEDIR, kubectl ignores the preferences (kuberc) in the home directory, and keeps its
  // discovery cache in the directory of the control plane.
  const env = {
    ...process.env,
    KUBECONFIG: controlPlane.kubeconfigPath,
    KUBERC: 'off',
    KUBECACHEDIR: join(controlPlane.dir, 'kubectl-cache'),
  };
  return runProgram(controlPlane.kubectlPath, args, { name: 'kubectl', env, stdin });
}
