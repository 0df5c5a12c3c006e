import { join } from 'node:path';
import { renderKustomization } from './kustomize.ts';

/** The image of the Deployment in config/manager. It is a placeholder, which every installation replaces. */
const PLACEHOLDER = 'image: controller:latest';

export interface ComponentsRequest {
  readonly root: string;
  /** The path of kubectl. */
  readonly kubectl: string;
  /** The image with its tag. */
  readonly image: string;
}

/**
 * Returns the content of infrastructure-components.yaml: the manifests of config/release, with the image of the
 * release.
 */
export function releaseComponents({ root, kubectl, image }: ComponentsRequest): string {
  const parts = renderKustomization(kubectl, join(root, 'config/release')).split(PLACEHOLDER);
  if (parts.length !== 2)
    throw new Error(`config/release has ${parts.length - 1} times "${PLACEHOLDER}" instead of once`);
  return parts.join(`image: ${image}`);
}
