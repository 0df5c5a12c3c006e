import { OR_REPLACE_OBJECT } from './phrases.ts';

/** Where the subnets of a profile come from. `status`: of a provisioned object. `eks`: EKS chooses them. */
export type SubnetSource = 'spec' | 'status' | 'controlPlane' | 'eks';

export function describeSubnetCorrection(source: SubnetSource): string {
  switch (source) {
    case 'spec':
      return 'Correct spec.subnetIDs, or the AWS resource that it names';
    case 'status':
      return `Correct the AWS resource that status.subnets names. ${OR_REPLACE_OBJECT}`;
    case 'controlPlane':
      return 'Correct spec.network.subnets of the control plane, or the AWS resource that it names. Or name other subnets in spec.subnetIDs';
    case 'eks':
      return 'Name private subnets in spec.subnetIDs';
  }
}
