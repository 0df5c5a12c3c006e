import type { Context, Operations, Output } from './context.ts';
import { AwsError } from './errors.ts';
import { type Input, stringMap } from './input.ts';

/** Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSubnets.html. Without filters and pages. */
function describeSubnets(input: Input, { region }: Context): Output {
  const subnetSet = Object.values(stringMap(input, 'SubnetId')).map((subnetId) => {
    const subnet = region.subnets.get(subnetId);
    if (subnet === undefined)
      throw new AwsError('InvalidSubnetID.NotFound', 400, `The subnet ID '${subnetId}' does not exist`);
    const { vpcId, availabilityZone, freeAddresses: availableIpAddressCount = 251 } = subnet;
    return { subnetId, vpcId, availabilityZone, availableIpAddressCount };
  });
  return { subnetSet };
}

export const ec2Operations: Operations = {
  DescribeSubnets: { mutates: false, resource: () => '*', run: describeSubnets },
};
