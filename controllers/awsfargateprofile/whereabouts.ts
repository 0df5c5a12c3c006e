import { AccountId, EksClusterName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { PROVISIONED_IN_ANNOTATION } from '../../api/v1beta2/index.ts';

/** Where in AWS something of an object may be. */
export interface Somewhere {
  readonly account: AccountId;
  readonly region: string;
  readonly eksCluster: EksClusterName;
}

/** What the object itself says of where it is in AWS. */
export type Whereabouts =
  | ({ readonly kind: 'somewhere' } & Somewhere)
  /** Nothing was begun in AWS since the finalizer was put on. */
  | { readonly kind: 'nowhere' }
  /** Somebody else put the finalizer on, or took away what was written: it may be anywhere. */
  | { readonly kind: 'unknown' };

/** The annotation's value for an object of which nothing is in AWS. */
export const NOWHERE = 'nowhere';

/**
 * Status says it, and where a move or a restore has dropped that, the annotation. Like all that stands on the object a
 * hint: it can hold a pass up, never lead one to another place than the control plane names.
 */
export function whereaboutsOf({ metadata, status }: AWSFargateProfile): Whereabouts {
  const { account, region, eksClusterName } = status ?? {};
  if (account !== undefined && region !== undefined && eksClusterName !== undefined) {
    return { kind: 'somewhere', account, region, eksCluster: eksClusterName };
  }
  return read(metadata.annotations?.[PROVISIONED_IN_ANNOTATION]);
}

/** The annotation's value for an object of which something is there, or is about to be. */
export const written = ({ account, region, eksCluster }: Somewhere): string => [account, region, eksCluster].join('/');

function read(annotation: string | undefined): Whereabouts {
  if (annotation === NOWHERE) return { kind: 'nowhere' };
  const [account, region, eksCluster, ...rest] = annotation?.split('/') ?? [];
  return !account || !region || !eksCluster || rest.length > 0
    ? { kind: 'unknown' }
    : { kind: 'somewhere', account: AccountId.of(account), region, eksCluster: EksClusterName.of(eksCluster) };
}
