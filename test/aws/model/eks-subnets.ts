import type { Context } from './context.ts';
import { eksErrors } from './errors.ts';
import type { Cluster, Region } from './state.ts';

/** The subnets that a profile gets when it names none: the private ones of its cluster. */
export function subnetsToUse(named: readonly string[], cluster: Cluster, region: Region): readonly string[] {
  return named.length > 0 ? named : cluster.subnetIds.filter((id) => region.subnets.get(id)?.isPublic === false);
}

/** Throws unless every subnet exists in the cluster's VPC, is private, and lies in a zone that Fargate serves. */
export function checkSubnets(
  named: readonly string[],
  cluster: Cluster,
  context: Context,
  members: Readonly<Record<string, string>>,
): void {
  const { eks } = context.world.config;
  const used = eks.emptySubnets === 'refuse' ? named : subnetsToUse(named, cluster, context.region);
  if (used.length === 0) {
    // The words are not known.
    throw eksErrors.invalidParameter('Fargate Profile requires at least one private subnet.', members);
  }
  for (const id of used) {
    const subnet = context.region.subnets.get(id);
    if (subnet === undefined) {
      // EC2's words, as EKS passes them on.
      throw eksErrors.invalidParameter(`The subnet ID '${id}' does not exist`, members);
    }
    if (subnet.vpcId !== cluster.vpcId) {
      // The words are not known.
      throw eksErrors.invalidParameter(`Subnet ${id} is not in the VPC of cluster ${cluster.name}`, members);
    }
    if (subnet.isPublic) {
      throw eksErrors.invalidParameter(`Subnet ${id} provided in Fargate Profile is not a private subnet`, members);
    }
    if (eks.unsupportedAvailabilityZones.includes(subnet.availabilityZone)) {
      throw eksErrors.invalidParameter(
        `Fargate Profile creation for the Availability Zone ${subnet.availabilityZone} for Subnet ${id} is not supported`,
        members,
      );
    }
  }
}
