import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** The largest output of kubectl that this program accepts, in bytes. The CRD alone takes 40 kB. */
const MAX_OUTPUT_BYTES = 10e6;
/** The image of the Deployment in config/manager. It is a placeholder, which every installation replaces. */
const PLACEHOLDER = 'image: controller:latest';

/**
 * Runs `kubectl kustomize`, which includes kustomize, and returns the manifests.
 * @param kubectl the path of kubectl
 * @param directory a directory with a kustomization.yaml
 * @throws if kubectl fails, with its output on stderr
 */
export const renderKustomization = (kubectl: string, directory: string): string =>
  execFileSync(kubectl, ['kustomize', directory], { encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES });

/**
 * Returns the content of infrastructure-components.yaml: the manifests of config/release, with an image and its tag.
 */
export function releaseComponents(kubectl: string, root: string, image: string): string {
  const parts = renderKustomization(kubectl, join(root, 'config/release')).split(PLACEHOLDER);
  if (parts.length !== 2)
    throw new Error(`config/release has ${parts.length - 1} times "${PLACEHOLDER}" instead of once`);
  return parts.join(`image: ${image}`);
}
