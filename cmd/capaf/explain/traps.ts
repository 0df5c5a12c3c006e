import { formatTimestamp as time } from 'controller-runtime/env';
import { shellCommand } from 'controller-runtime/text';
import type { EksClusterName, RoleArn } from '../../../api/names.ts';
import type { FargateProfile, Session } from '../../../pkg/cloud/index.ts';
import { type Asked, type AwsAccess, attempt, readFreeAddresses, seen } from '../aws.ts';
import { readPodRole } from '../pod-role.ts';

/** Finds reasons in AWS why a profile's pods may not start. */
export const findTraps = async (
  aws: AwsAccess,
  session: Session,
  { cluster, podExecutionRoleArn, subnets }: FargateProfile,
): Promise<readonly Asked<string>[]> => [
  ['the access entry of the role', await attempt(() => findAccessEntryTrap(session, cluster, podExecutionRoleArn))],
  ['the free addresses of the subnets', await attempt(() => findSubnetTrap(aws, session.region, subnets))],
];

/** Pods cannot join the cluster if the access entry belongs to an earlier role of the same name. */
async function findAccessEntryTrap(session: Session, name: EksClusterName, principal: RoleArn) {
  const { clusters, region } = session;
  const mode = (await seen(clusters.describe(name)))?.authenticationMode ?? 'CONFIG_MAP';
  if (mode === 'CONFIG_MAP') return undefined;
  const found = await readPodRole(session, name, mode, principal);
  if (found.kind !== 'outdated') return undefined;
  const { role, entry } = found;
  return (
    `The access entry of role ${principal} (${time(entry.createdAt)}) is older than the role ` +
    `(${time(role.createdAt)}): it belongs to an earlier role of this name, and pods cannot join the cluster. ` +
    `Replace it: ${entryCommands(region, name, principal).join(' && ')}`
  );
}

export function entryCommands(region: string, cluster: string, principal: string): readonly string[] {
  const flags = [`--region=${region}`, `--cluster-name=${cluster}`, `--principal-arn=${principal}`];
  return [
    shellCommand(['aws', 'eks', 'delete-access-entry', ...flags]),
    shellCommand(['aws', 'eks', 'create-access-entry', ...flags, '--type=FARGATE_LINUX']),
  ];
}

/** Each Fargate pod takes a free address from one of the subnets. */
async function findSubnetTrap(aws: AwsAccess, region: string, subnets: readonly string[]) {
  const free = [...(await readFreeAddresses(aws, region, subnets)).values()];
  if (free.length === 0 || free.some((count) => count > 0)) return undefined;
  return `No subnet of the profile has a free address (${subnets.join(', ')}), so pods do not start.`;
}
