import { AccountId, EksClusterName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';

/** The EKS cluster in which the object's profile exists or may exist. */
export interface KnownLocation {
  readonly account: AccountId;
  readonly region: string;
  readonly eksCluster: EksClusterName;
}

/** The AWS location that is recorded on an object. */
export type Location =
  | ({ readonly kind: 'known' } & KnownLocation)
  /** The controller has created nothing in AWS since it added the finalizer. */
  | { readonly kind: 'none' }
  /**
   * The object has no recorded location, because another client added the finalizer or removed the record. So the
   * profile may exist in any account, region and EKS cluster.
   */
  | { readonly kind: 'unknown' };

/** The value of the annotation `provisioned-in` for an object that has nothing in AWS. */
export const NOWHERE = 'nowhere';

/**
 * Reads the recorded AWS location from status, or from the annotation `provisioned-in` if `clusterctl move` or a
 * restore has dropped status. A pass stops if the control plane names another location. A pass never calls AWS for a
 * location that the control plane does not name: docs/adr/0011.
 */
export function locationOf({ metadata, status }: AWSFargateProfile): Location {
  const { account, region, eksClusterName } = status ?? {};
  if (account !== undefined && region !== undefined && eksClusterName !== undefined) {
    return { kind: 'known', account, region, eksCluster: eksClusterName };
  }
  return parseLocation(metadata.annotations?.[PROVISIONED_IN_ANNOTATION]);
}

/**
 * Whether the object itself records that nothing was created in AWS for it: it has the mark `provisioned-in: nowhere`,
 * and status names no target. An object without the mark may be one of Cluster API Provider AWS, or have lost its
 * annotations.
 */
export const isNeverBegun = (object: AWSFargateProfile): boolean => {
  const { account, region, eksClusterName } = object.status ?? {};
  return [account, region, eksClusterName].every((each) => each === undefined) && locationOf(object).kind === 'none';
};

/** Formats the value of the annotation `provisioned-in`: `<account>/<region>/<EKS cluster>`. */
export const formatLocation = ({ account, region, eksCluster }: KnownLocation): string =>
  [account, region, eksCluster].join('/');

function parseLocation(annotation: string | undefined): Location {
  if (annotation === NOWHERE) return { kind: 'none' };
  const [account, region, eksCluster, ...rest] = annotation?.split('/') ?? [];
  return !account || !region || !eksCluster || rest.length > 0
    ? { kind: 'unknown' }
    : { kind: 'known', account: AccountId.of(account), region, eksCluster: EksClusterName.of(eksCluster) };
}
