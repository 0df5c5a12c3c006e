import type { Clients } from '../sdk-clients.ts';
import type { AwsConfig } from '../session.ts';

const EC2_API_VERSION = '2016-11-15';

/**
 * By subnet, without subnets that do not exist. There is no client of EC2, so this signs a request of its query protocol
 * with the client of STS.
 */
export async function readFreeAddresses(
  { sts: { config } }: Pick<Clients, 'sts'>,
  { endpoints, transport }: Pick<AwsConfig, 'endpoints' | 'transport'>,
  region: string,
  subnets: readonly string[],
  abortSignal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  if (subnets.length === 0) return new Map();
  const { fips, dualStack } = endpoints;
  const endpoint = { Region: region, UseFIPS: fips, UseDualStack: dualStack, UseGlobalEndpoint: false };
  const ofSts = config.endpointProvider(endpoint).url;
  const url = new URL(endpoints.urlFor('ec2', region) ?? ofSts.href.replace('//sts', '//ec2'));
  const ids = subnets.map((id, index): [string, string] => [`Filter.1.Value.${index + 1}`, id]);
  const parameters = { Action: 'DescribeSubnets', Version: EC2_API_VERSION, 'Filter.1.Name': 'subnet-id' };
  const body = new URLSearchParams([...Object.entries(parameters), ...ids]).toString();
  const { protocol, hostname, port, host, pathname: path } = url;
  const headers = { host, 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
  const signer = await config.signer({ name: 'sigv4', signingName: 'ec2', signingRegion: region, properties: {} });
  const request = { method: 'POST', protocol, hostname, path, query: {}, headers, body };
  const signed = await signer.sign({ ...request, ...(port !== '' && { port: Number(port) }) });
  const { response } = await transport.handle(signed, { abortSignal });
  const text = response.body instanceof Uint8Array ? new TextDecoder().decode(response.body) : '';
  if (response.statusCode === 200) return freeAddressesIn(text);
  const [, name] = /<Code>([^<]*)</.exec(text) ?? [];
  const [, message] = /<Message>([^<]*)</.exec(text) ?? [];
  const $metadata = { httpStatusCode: response.statusCode };
  throw Object.assign(new Error(message), { name, $fault: 'client', $metadata });
}

/** In an answer of EC2, the id of a subnet comes before its number of free addresses. */
function freeAddressesIn(text: string): ReadonlyMap<string, number> {
  const free = new Map<string, number>();
  let id = '';
  for (const [, field, value = ''] of text.matchAll(/<(subnetId|availableIpAddressCount)>([^<]{1,64})</g))
    if (field === 'subnetId') id = value;
    else free.set(id, Number(value));
  return free;
}
