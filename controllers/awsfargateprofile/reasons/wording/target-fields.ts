/** `isOfObject` tells whether the object gets its EKS cluster from spec.eksCluster instead of from a control plane. */
export type OfTarget = { readonly isOfObject?: boolean };

/** Returns the field in which a user names the identity for the calls to AWS. */
export const identityField = ({ isOfObject = false }: OfTarget): string =>
  isOfObject ? 'spec.eksCluster.identityRef' : 'spec.identityRef of the control plane';
