import type { NeededVersion } from 'controller-runtime/manager';

/**
 * The versions of Kubernetes whose API server accepts the CRD. The CRD's rules use `optionalOldSelf`, which needs the
 * feature CRDValidationRatcheting: off in 1.28 and 1.29, on since 1.30.
 */
export const NEEDED_KUBERNETES: NeededVersion = {
  oldestMinor: 30,
  neededBy: 'this provider',
  remedy: 'upgrade the management cluster',
};
