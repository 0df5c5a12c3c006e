import { join } from 'node:path';
import { type ProgramResult, runProgram } from '../../support/run-program.ts';
import type { ControlPlane } from '../control-plane/controlplane.ts';

export interface KubectlOptions {
  readonly stdin?: string;
  /** The user of the control plane whose kubeconfig kubectl uses; default: the administrator. */
  readonly user?: string;
}

/**
 * Runs the real kubectl, and returns its exit code and output. A nonzero exit code is not an error.
 * @throws if kubectl does not exit within `HANG_LIMIT_MS`
 */
export function kubectl(
  controlPlane: ControlPlane,
  args: readonly string[],
  { stdin = '', user }: KubectlOptions = {},
): Promise<ProgramResult> {
  const kubeconfig = user === undefined ? controlPlane.kubeconfigPath : controlPlane.user(user).kubeconfigPath;
  // Because of KUBERC and KUBECACHEDIR, kubectl ignores the preferences (kuberc) in the home directory, and keeps its
  // discovery cache in the directory of the control plane.
  const env = {
    ...process.env,
    KUBECONFIG: kubeconfig,
    KUBERC: 'off',
    KUBECACHEDIR: join(controlPlane.dir, 'kubectl-cache'),
  };
  return runProgram(controlPlane.kubectlPath, args, { name: 'kubectl', env, stdin });
}
