/** A reference to an AWSCluster…Identity. Without a reference, the manager's own credentials are used. */
export interface IdentityRef {
  readonly kind: string;
  readonly name: string;
}

/** The field that selects the identity: `spec.identityRef` of the control plane, or `spec.eksCluster.identityRef`. */
export type IdentityField = 'controlPlane' | 'eksCluster';

/** How messages refer to the owner of the manager's own credentials. */
export const MANAGER_ITSELF = 'the manager itself';

/** Returns how messages refer to the owner of the credentials, e.g. `AWSClusterStaticIdentity "team-a"`. */
export const credentialsName = (identity: IdentityRef | undefined): string =>
  identity === undefined ? MANAGER_ITSELF : `${identity.kind} "${identity.name}"`;
