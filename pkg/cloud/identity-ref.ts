/**
 * The `identityRef` of a control plane or of `spec.eksCluster`, which names an AWSCluster…Identity. Without an
 * `identityRef` the manager's own credentials are used.
 */
export interface IdentityRef {
  readonly kind: string;
  readonly name: string;
}

/**
 * The field in which a user names the identity: `spec.identityRef` of the control plane, or
 * `spec.eksCluster.identityRef`.
 */
export type IdentityField = 'controlPlane' | 'eksCluster';
