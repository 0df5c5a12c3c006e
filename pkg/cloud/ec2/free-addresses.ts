import { type Sender, sendQuery } from '../call/signed-request.ts';

const EC2_API_VERSION = '2016-11-15';

/** Returns the number of free IP addresses per subnet. Omits subnets that do not exist. */
export async function readFreeAddresses(
  sender: Sender,
  subnets: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (subnets.length === 0) return new Map();
  const ids = subnets.map((id, index) => [`Filter.1.Value.${index + 1}`, id] as const);
  const parameters = { Action: 'DescribeSubnets', Version: EC2_API_VERSION, 'Filter.1.Name': 'subnet-id' };
  return freeAddressesIn(await sendQuery(sender, 'ec2', { ...parameters, ...Object.fromEntries(ids) }));
}

/** In EC2's response, a subnet's ID precedes its number of free addresses. */
function freeAddressesIn(text: string): ReadonlyMap<string, number> {
  const free = new Map<string, number>();
  let id = '';
  for (const [, field, value = ''] of text.matchAll(/<(subnetId|availableIpAddressCount)>([^<]{1,64})</g))
    if (field === 'subnetId') id = value;
    else free.set(id, Number(value));
  return free;
}
