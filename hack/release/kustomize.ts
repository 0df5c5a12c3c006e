import { execFileSync } from 'node:child_process';

/** The largest output of kubectl that this program accepts, in bytes. The CRD alone has 40 kB. */
const MAX_OUTPUT_BYTES = 10e6;

/**
 * Runs `kubectl kustomize`, which includes kustomize, and returns the manifests.
 * @param kubectl the path of kubectl
 * @param directory a directory with a kustomization.yaml
 * @throws if kubectl fails, with its output on stderr
 */
export const renderKustomization = (kubectl: string, directory: string): string =>
  execFileSync(kubectl, ['kustomize', directory], { encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES });
