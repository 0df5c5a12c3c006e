import type { Context, Operations, Output } from './context.ts';
import { AwsError } from './errors.ts';
import { type Input, isRecord, stringMap } from './input.ts';

/**
 * Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSubnets.html. The emulator has no
 * pagination and supports only the filter `subnet-id`. As in EC2, the result leaves out ids for which no subnet exists.
 */
function describeSubnets(input: Input, { region }: Context): Output {
  const filters = isRecord(input['Filter']) ? Object.values(input['Filter']) : [];
  const filtered = filters.flatMap((filter) => {
    if (!isRecord(filter) || filter['Name'] !== 'subnet-id')
      throw new AwsError('InvalidParameterValue', 400, 'The emulator knows the filter subnet-id only');
    return Object.values(stringMap(filter, 'Value')).filter((id) => region.subnets.has(id));
  });
  const subnetSet = [...Object.values(stringMap(input, 'SubnetId')), ...filtered].map((subnetId) => {
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
