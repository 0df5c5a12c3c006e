/** Whether the object gets its EKS cluster from spec.eksCluster instead of from a control plane. */
export type OfTarget = { readonly isOfObject?: boolean };

export const identityField = ({ isOfObject = false }: OfTarget): string =>
  isOfObject ? 'spec.eksCluster.identityRef' : 'spec.identityRef of the control plane';
