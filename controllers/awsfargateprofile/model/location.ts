import { AccountId, EksClusterName } from '../../../api/names.ts';
import { type AWSFargateProfile, PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';

/** The AWS account, region and EKS cluster in which the object's Fargate profile exists or may exist. */
export interface KnownLocation {
  readonly account: AccountId;
  readonly region: string;
  readonly eksCluster: EksClusterName;
}

/** The AWS location that an AWSFargateProfile records in status or annotation. */
export type Location =
  | ({ readonly kind: 'known' } & KnownLocation)
  /** The controller has created nothing in AWS since it added the finalizer. */
  | { readonly kind: 'none' }
  /**
   * The object records no location. If the object is not new, another client added the finalizer, or removed or damaged
   * the record. Then the Fargate profile may exist in any account, region and EKS cluster.
   */
  | { readonly kind: 'unknown' };

/** The value of the annotation `provisioned-in` for an object that has nothing in AWS. */
export const NOWHERE = 'nowhere';

/**
 * Reads the recorded AWS location from status, or from the annotation `provisioned-in` if status lacks it, for example
 * after `clusterctl move` or a restore. The annotation alone never decides where AWS is called: the control plane or
 * spec.eksCluster must name the same location, otherwise the reconcile stops (docs/adr/0011). But if
 * spec.eksCluster.region is absent, the controller takes the region from the annotation.
 */
export function locationOf({ metadata, status }: AWSFargateProfile): Location {
  const { account, region, eksClusterName } = status ?? {};
  if (account !== undefined && region !== undefined && eksClusterName !== undefined) {
    return { kind: 'known', account, region, eksCluster: eksClusterName };
  }
  return parseLocation(metadata.annotations?.[PROVISIONED_IN_ANNOTATION]);
}

/**
 * Whether the object itself records that nothing was created in AWS for it: it has the annotation `provisioned-in:
 * nowhere`, and status has neither account nor region nor EKS cluster. An object without the annotation proves nothing:
 * Cluster API Provider AWS may have reconciled the object, or another client may have removed the annotation.
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
  const { account, region, eksCluster } = LOCATION.exec(annotation ?? '')?.groups ?? {};
  return account === undefined || region === undefined || eksCluster === undefined
    ? { kind: 'unknown' }
    : { kind: 'known', account: AccountId.of(account), region, eksCluster: EksClusterName.of(eksCluster) };
}

/**
 * The form of the annotation `provisioned-in`: an AWS account, a region, and a name that EKS allows for a cluster. Users
 * can write any text of up to 256 KiB into an annotation, and messages show the location.
 */
const LOCATION = /^(?<account>\d{12})\/(?<region>[a-z0-9-]{1,63})\/(?<eksCluster>[A-Za-z0-9][\w-]{0,99})$/;
