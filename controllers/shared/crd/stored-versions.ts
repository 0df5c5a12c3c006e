import type { KubeObject } from 'controller-runtime/client';
import { fieldAt } from 'controller-runtime/json';
import { crd as ourCrd, unservedVersion } from '../../../api/v1beta2/crd.ts';

const OUR_VERSIONS: readonly string[] = ourCrd.spec.versions.map(({ name }) => name);

/**
 * Returns the versions that this release's CRD lacks and in which etcd may contain AWSFargateProfiles. The API server
 * refuses a CRD that lacks one of them.
 */
export function missingStoredVersions(installed: KubeObject | undefined): readonly string[] {
  const stored = fieldAt(installed?.['status'], 'storedVersions');
  const versions: readonly unknown[] = Array.isArray(stored) ? stored : [];
  return versions.filter((version) => typeof version === 'string').filter((version) => !OUR_VERSIONS.includes(version));
}

/** Adds the missing stored versions, so that the API server accepts this CRD in place of the installed one. */
export function crdOver(installed: KubeObject | undefined) {
  const added = missingStoredVersions(installed).map(unservedVersion);
  return { ...ourCrd, spec: { ...ourCrd.spec, versions: [...ourCrd.spec.versions, ...added] } };
}
