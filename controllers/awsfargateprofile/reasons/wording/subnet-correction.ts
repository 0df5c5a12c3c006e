import { OR_REPLACE_OBJECT } from './phrases.ts';

/**
 * The field that names the subnets of a Fargate profile: spec.subnetIDs, status.subnets of a provisioned object, or
 * spec.network.subnets of the control plane. `eks`: EKS chooses the subnets.
 */
export type SubnetSource = 'spec' | 'status' | 'controlPlane' | 'eks';

/** Returns what a user can do about subnets that AWS rejects, as one or two sentences without the last full stop. */
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
