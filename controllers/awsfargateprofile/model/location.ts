import { AccountId, EksClusterName } from '../../../api/names.ts';
import { type AWSFargateProfile, PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';

/** Where the object's Fargate profile exists or may exist. */
export interface KnownLocation {
  readonly account: AccountId;
  readonly region: string;
  readonly eksCluster: EksClusterName;
}

export type Location =
  | ({ readonly kind: 'known' } & KnownLocation)
  /** Nothing was created in AWS since this controller added the finalizer. */
  | { readonly kind: 'none' }
  /** Another client added the finalizer, or removed or damaged the record. The profile may exist anywhere. */
  | { readonly kind: 'unknown' };

/** The value of the annotation `provisioned-in` for an object that has nothing in AWS. */
export const NOWHERE = 'nowhere';

/**
 * Status comes before the annotation, which remains after `clusterctl move` or a restore. The annotation alone never
 * decides where AWS is called: the control plane or spec.eksCluster must name the same location (docs/adr/0011). Only
 * an absent spec.eksCluster.region is taken from it.
 */
export function locationOf({ metadata, status }: AWSFargateProfile): Location {
  const { account, region, eksClusterName } = status ?? {};
  if (account !== undefined && region !== undefined && eksClusterName !== undefined) {
    return { kind: 'known', account, region, eksCluster: eksClusterName };
  }
  return parseLocation(metadata.annotations?.[PROVISIONED_IN_ANNOTATION]);
}

/**
 * An object without the annotation proves nothing: Cluster API Provider AWS may have reconciled the object, or another
 * client may have removed the annotation.
 */
export const isNeverBegun = (object: AWSFargateProfile): boolean => {
  const { account, region, eksClusterName } = object.status ?? {};
  return [account, region, eksClusterName].every((each) => each === undefined) && locationOf(object).kind === 'none';
};

export const formatLocation = ({ account, region, eksCluster }: KnownLocation): string =>
  [account, region, eksCluster].join('/');

function parseLocation(annotation: string | undefined): Location {
  if (annotation === NOWHERE) return { kind: 'none' };
  const { account, region, eksCluster } = LOCATION.exec(annotation ?? '')?.groups ?? {};
  return account === undefined || region === undefined || eksCluster === undefined
    ? { kind: 'unknown' }
    : { kind: 'known', account: AccountId.of(account), region, eksCluster: EksClusterName.of(eksCluster) };
}

/** Users can write any text of up to 256 KiB into an annotation, and messages show the location. */
const LOCATION = /^(?<account>\d{12})\/(?<region>[a-z0-9-]{1,63})\/(?<eksCluster>[A-Za-z0-9][\w-]{0,99})$/;
