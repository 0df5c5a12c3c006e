import type { EksClusterName, RoleArn } from '../../../api/names.ts';
import { isOutdated } from '../../../controllers/awsfargateprofile/decide/change-access-entry.ts';
import type { FargateProfile, Session } from '../../../pkg/cloud/index.ts';
import { formatTimestamp as time } from '../../../pkg/env/timestamp.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { type Asked, type AwsAccess, attempt, seen } from '../aws.ts';

/** Why the pods of a profile may not start, as far as AWS tells. */
export const findTraps = async (
  aws: AwsAccess,
  session: Session,
  { cluster, podExecutionRoleArn, subnets }: FargateProfile,
): Promise<readonly Asked<string>[]> => [
  ['the access entry of the role', await attempt(() => findAccessEntryTrap(session, cluster, podExecutionRoleArn))],
  ['the free addresses of the subnets', await attempt(() => findSubnetTrap(aws, session.region, subnets))],
];

/** Why pods cannot join the cluster: the access entry of the pod execution role must be that of the present role. */
async function findAccessEntryTrap(session: Session, name: EksClusterName, principal: RoleArn) {
  const { clusters, roles, accessEntries, region } = session;
  const roleName = parseRoleArn(principal)?.name;
  const mode = (await seen(clusters.describe(name)))?.authenticationMode ?? 'CONFIG_MAP';
  if (mode === 'CONFIG_MAP' || roleName === undefined) return undefined;
  const role = await seen(roles.get(roleName));
  const lookup = await seen(accessEntries.describe(name, principal));
  if (role === undefined || lookup.kind !== 'found' || !isOutdated(lookup.entry, role)) return undefined;
  const flags = `--region ${region} --cluster-name ${name} --principal-arn ${principal}`;
  return (
    `The access entry of role ${principal} (${time(lookup.entry.createdAt)}) is older than the role ` +
    `(${time(role.createdAt)}): it belongs to an earlier role of this name, and pods cannot join the cluster. ` +
    `Replace it: aws eks delete-access-entry ${flags} && aws eks create-access-entry ${flags} --type FARGATE_LINUX`
  );
}

/** Each pod on Fargate takes an address of one of the subnets. */
async function findSubnetTrap(aws: AwsAccess, region: string, subnets: readonly string[]) {
  const free = subnets.length === 0 ? [] : await readFreeAddresses(aws, region, subnets);
  if (free.length === 0 || free.some((count) => count > 0)) return undefined;
  return `No subnet of the profile has a free address (${subnets.join(', ')}), so pods do not start.`;
}

const EC2_API_VERSION = '2016-11-15';

/** The product has no client of EC2, so this signs a request of its query protocol with the client of STS. */
const readFreeAddresses = (aws: AwsAccess, region: string, subnets: readonly string[]) =>
  aws.ask('ec2', 'DescribeSubnets', region, async ({ sts: { config } }, abortSignal): Promise<readonly number[]> => {
    const { fips, dualStack } = aws.endpoints;
    const endpoint = { Region: region, UseFIPS: fips, UseDualStack: dualStack, UseGlobalEndpoint: false };
    const ofSts = config.endpointProvider(endpoint).url;
    const url = new URL(aws.endpoints.urlFor('ec2', region) ?? ofSts.href.replace('//sts', '//ec2'));
    const ids = subnets.map((id, index): [string, string] => [`SubnetId.${index + 1}`, id]);
    const body = new URLSearchParams([['Action', 'DescribeSubnets'], ['Version', EC2_API_VERSION], ...ids]).toString();
    const { protocol, hostname, port, host, pathname: path } = url;
    const headers = { host, 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
    const signer = await config.signer({ name: 'sigv4', signingName: 'ec2', signingRegion: region, properties: {} });
    const request = { method: 'POST', protocol, hostname, path, query: {}, headers, body };
    const signed = await signer.sign({ ...request, ...(port !== '' && { port: Number(port) }) });
    const { response } = await aws.transport.handle(signed, { abortSignal });
    const text = response.body instanceof Uint8Array ? new TextDecoder().decode(response.body) : '';
    if (response.statusCode === 200)
      return Array.from(text.matchAll(/<availableIpAddressCount>(\d{1,9})</g), ([, count]) => Number(count));
    const [, name] = /<Code>([^<]*)</.exec(text) ?? [];
    const [, message] = /<Message>([^<]*)</.exec(text) ?? [];
    const $metadata = { httpStatusCode: response.statusCode };
    throw Object.assign(new Error(message), { name, $fault: 'client', $metadata });
  });
