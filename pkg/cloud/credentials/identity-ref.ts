/** A reference to an AWSCluster…Identity. Without a reference, the manager's own credentials are used. */
export interface IdentityRef {
  readonly kind: string;
  readonly name: string;
}

/** The field that selects the identity: `spec.identityRef` of the control plane, or `spec.eksCluster.identityRef`. */
export type IdentityField = 'controlPlane' | 'eksCluster';

/** The owner of the manager's own credentials, in the text of {@link credentialsName}. */
export const MANAGER_ITSELF = 'the manager itself';

/** The owner of the credentials in messages, such as `AWSClusterStaticIdentity "team-a"`. */
export const credentialsName = (identity: IdentityRef | undefined): string =>
  identity === undefined ? MANAGER_ITSELF : `${identity.kind} "${identity.name}"`;

/** `whose` is a result of {@link credentialsName}. */
export const describeCredentials = (whose: string): string =>
  whose === MANAGER_ITSELF ? "the manager's own credentials" : `the credentials of ${whose}`;
