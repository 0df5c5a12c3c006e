import type { Context } from '../context.ts';
import { eksErrors } from '../errors.ts';
import type { EmulatedCluster, EmulatedRegion } from '../resources.ts';

/**
 * Returns the subnets of a new Fargate profile: the subnets in the request or, if the request names none, the private
 * subnets of the EKS cluster.
 */
export function subnetsToUse(
  named: readonly string[],
  cluster: EmulatedCluster,
  region: EmulatedRegion,
): readonly string[] {
  return named.length > 0 ? named : cluster.subnetIds.filter((id) => region.subnets.get(id)?.isPublic === false);
}

/**
 * Checks the subnets of a new Fargate profile.
 * @throws the error of EKS unless every subnet is private and in the VPC of the cluster
 */
export function checkSubnets(
  named: readonly string[],
  cluster: EmulatedCluster,
  context: Context,
  members: Readonly<Record<string, string>>,
): void {
  const used = subnetsToUse(named, cluster, context.region);
  if (named.length === 0) checkChoicePermissions(context, members);
  if (used.length === 0) {
    // AWS does not document the error message for a Fargate profile without subnets.
    throw eksErrors.invalidParameter('Fargate Profile requires at least one private subnet.', members);
  }
  for (const id of used) {
    const subnet = context.region.subnets.get(id);
    if (subnet === undefined) {
      // For an unknown subnet, EKS returns EC2's error message.
      throw eksErrors.invalidParameter(`The subnet ID '${id}' does not exist`, members);
    }
    if (subnet.vpcId !== cluster.vpcId) {
      // AWS does not document the error message for a subnet of another VPC.
      throw eksErrors.invalidParameter(`Subnet ${id} is not in the VPC of cluster ${cluster.name}`, members);
    }
    if (subnet.isPublic) {
      throw eksErrors.invalidParameter(`Subnet ${id} provided in Fargate Profile is not a private subnet`, members);
    }
  }
}

/**
 * Without subnets in the request, EKS chooses private subnets with the permissions of the caller:
 * https://github.com/aws/aws-cdk/issues/7614
 */
function checkChoicePermissions({ mayCaller }: Context, members: Readonly<Record<string, string>>): void {
  for (const action of ['ec2:DescribeSubnets', 'ec2:DescribeRouteTables']) {
    // The message "Missing permissions for …" is from https://github.com/aws/aws-cdk/issues/7614. AWS does not document
    // the type of the error.
    if (!mayCaller(action)) {
      throw eksErrors.invalidRequest(`Missing permissions for ${action}`, members);
    }
  }
}
