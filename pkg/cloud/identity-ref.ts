/**
 * The field `spec.identityRef` of a control plane, or `spec.eksCluster.identityRef` of an AWSFargateProfile. It names
 * an AWSCluster…Identity. Without this field the manager's own credentials are used.
 */
export interface IdentityRef {
  readonly kind: string;
  readonly name: string;
}

/**
 * The field in which a user names the identity: `spec.identityRef` of the control plane, or
 * `spec.eksCluster.identityRef` of the AWSFargateProfile.
 */
export type IdentityField = 'controlPlane' | 'eksCluster';
