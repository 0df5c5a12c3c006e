/**
 * Facts of a reason. `isOfObject`: whether spec.eksCluster of the object names the EKS cluster, and not a control
 * plane.
 */
export type OfTarget = { readonly isOfObject?: boolean };

/** The field in which a user names the identity for the calls to AWS. */
export const identityField = ({ isOfObject = false }: OfTarget): string =>
  isOfObject ? 'spec.eksCluster.identityRef' : 'spec.identityRef of the control plane';
