/** Names an AWSCluster…Identity. Without a reference the manager's own credentials are used. */
export interface IdentityRef {
  readonly kind: string;
  readonly name: string;
}

/** Where a user names the identity: in `spec.identityRef` of the control plane, or in `spec.eksCluster.identityRef`. */
export type IdentityField = 'controlPlane' | 'eksCluster';

/** The owner of the manager's own credentials, as messages name it. */
export const MANAGER_ITSELF = 'the manager itself';

/** For messages, e.g. `AWSClusterStaticIdentity "team-a"`. */
export const credentialsName = (identity: IdentityRef | undefined): string =>
  identity === undefined ? MANAGER_ITSELF : `${identity.kind} "${identity.name}"`;
