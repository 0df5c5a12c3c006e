export const RETRIES = 'The controller retries on its own';
export const CONTINUES = 'The controller then continues on its own';

export const IF_UNREACHABLE =
  'If this lasts for more than ten minutes, look at the network between the manager and AWS: proxy, firewall, VPC endpoint';

export const quoted = (text: string): string => `"${text}"`;
export const listed = (texts: readonly string[]): string => texts.join(', ');
export const enumerated = (names: readonly string[]): string =>
  names.length <= 3 ? listed(names) : `${listed(names.slice(0, 3))} and ${names.length - 3} more`;

export type SpecChangeable = {
  /** The API server then refuses changes of the fields that EKS cannot change. */
  readonly isProvisioned?: boolean;
};

const replacement =
  'another AWSFargateProfile with selectors for the same pods, and delete this object when the new one is Ready';
/** For a problem that only a new object solves. */
export const REPLACE_OBJECT = `Create ${replacement}`;
export const OR_REPLACE_OBJECT = `Or create ${replacement}`;

/** The code that finds the problem writes the whole description. Its last sentence has no full stop. */
export type Description = { readonly detail: string };

/** Whether the object gets its EKS cluster from spec.eksCluster instead of from a control plane. */
export type OfTarget = { readonly isOfObject?: boolean };

export const identityField = ({ isOfObject = false }: OfTarget): string =>
  isOfObject ? 'spec.eksCluster.identityRef' : 'spec.identityRef of the control plane';

/** Where the subnets of a profile come from. `eks`: EKS chooses them. */
export type SubnetSource = 'spec' | 'controlPlane' | 'eks';

export function describeSubnetCorrection(source: SubnetSource): string {
  switch (source) {
    case 'spec':
      return 'Correct spec.subnetIDs, or the AWS resource that it names';
    case 'controlPlane':
      return 'Correct spec.network.subnets of the control plane, or the AWS resource that it names. Or name other subnets in spec.subnetIDs';
    case 'eks':
      return 'Name private subnets in spec.subnetIDs';
  }
}
