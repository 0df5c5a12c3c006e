import type { Context, Operations, Output } from '../context.ts';
import { type AwsError, eksErrors } from '../errors.ts';
import { type Input, optionalString } from '../input.ts';
import { versionVisibleAfter } from '../iam/role-visibility.ts';
import type { EmulatedAccessEntry, EmulatedAccount, EmulatedCluster, EmulatedRole } from '../resources.ts';
import { Instant } from '../time.ts';
import { clusterResource, requireCluster } from './clusters.ts';

/**
 * Adds an access entry to an EKS cluster. As in EKS, the entry stays bound to the unique id that the role has now. A
 * role that is created again under the same name has another id.
 */
export function addAccessEntry(
  cluster: EmulatedCluster,
  { account, region, uuid }: { readonly account: EmulatedAccount; readonly region: string; readonly uuid: string },
  now: number,
  wanted: Pick<EmulatedAccessEntry, 'principalArn' | 'principalId' | 'foreign'>,
): EmulatedAccessEntry {
  const principalName = wanted.principalArn.slice(wanted.principalArn.lastIndexOf('/') + 1);
  const entry: EmulatedAccessEntry = {
    arn: `arn:${account.partition}:eks:${region}:${account.id}:access-entry/${cluster.name}/role/${account.id}/${principalName}/${uuid}`,
    createdAt: now,
    ...wanted,
  };
  cluster.accessEntries.set(entry.principalArn, entry);
  return entry;
}

/**
 * Returns the role with this ARN, or undefined. The role is looked up by its name, which is unique in an account. A
 * role with the same name but another path has another ARN.
 */
export function roleWithArn(account: EmulatedAccount, arn: string): EmulatedRole | undefined {
  const role = account.roles.get(arn.slice(arn.lastIndexOf('/') + 1).toLowerCase());
  return role?.arn === arn ? role : undefined;
}

/**
 * Gives a pod execution role access to the EKS cluster, as EKS does for each new Fargate profile. EKS adds an access
 * entry, or a line in the ConfigMap aws-auth if the cluster does not use access entries. An existing access entry stays
 * unchanged, even if it is bound to a deleted role of the same name. A setting of the emulator decides whether EKS adds
 * an entry again after a client has deleted the earlier entry.
 */
export function admitPodExecutionRole(
  cluster: EmulatedCluster,
  roleArn: string,
  { account, region, now, state }: Pick<Context, 'account' | 'region' | 'now' | 'state'>,
): void {
  if (cluster.authenticationMode === 'CONFIG_MAP') {
    cluster.awsAuthRoleArns = [...new Set([...cluster.awsAuthRoleArns, roleArn])];
    return;
  }
  if (cluster.accessEntries.has(roleArn)) return;
  const wasDeleted = cluster.deletedAccessEntries.has(roleArn);
  if (wasDeleted && !state.config.eks.accessEntryMadeAnew) return;
  const role = roleWithArn(account, roleArn);
  addAccessEntry(cluster, { account, region: region.name, uuid: state.env.uuid() }, now, {
    principalArn: roleArn,
    principalId: role?.id,
    foreign: role?.foreign ?? true,
  });
}

/**
 * Whether new pods of a Fargate profile with this pod execution role can join the EKS cluster. The access entry of the
 * role decides. Without an access entry, the ConfigMap aws-auth decides, unless the cluster uses access entries alone.
 */
export function canPodsJoin(cluster: EmulatedCluster, account: EmulatedAccount, roleArn: string): boolean {
  const role = roleWithArn(account, roleArn);
  if (role === undefined) return false;
  const entry = cluster.authenticationMode === 'CONFIG_MAP' ? undefined : cluster.accessEntries.get(roleArn);
  if (entry !== undefined) return entry.principalId === role.id;
  return cluster.authenticationMode !== 'API' && cluster.awsAuthRoleArns.includes(roleArn);
}

/**
 * Returns the access entry as DescribeAccessEntry shows it. EKS does not show the unique id of the role to which the
 * entry is bound.
 */
function entryView(cluster: EmulatedCluster, entry: EmulatedAccessEntry): Output {
  return {
    clusterName: cluster.name,
    principalArn: entry.principalArn,
    kubernetesGroups: [],
    accessEntryArn: entry.arn,
    createdAt: new Instant(entry.createdAt),
    modifiedAt: new Instant(entry.createdAt),
    tags: {},
    username: 'system:node:{{SessionName}}',
    type: 'FARGATE_LINUX',
  };
}

/**
 * Returns the EKS cluster that the request names.
 * @throws the error of EKS for operations on access entries, if the authentication mode of the cluster is CONFIG_MAP
 */
function requireClusterWithEntries(input: Input, context: Context): EmulatedCluster {
  const cluster = requireCluster(input, 'clusterName', context);
  if (cluster.authenticationMode !== 'CONFIG_MAP') return cluster;
  throw eksErrors.invalidRequest(
    "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation.",
    { clusterName: cluster.name },
  );
}

function requireEntry(input: Input, cluster: EmulatedCluster): EmulatedAccessEntry {
  const entry = cluster.accessEntries.get(optionalString(input, 'principalArn') ?? '');
  if (entry !== undefined) return entry;
  throw eksErrors.resourceNotFound(
    "The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'.",
    { clusterName: cluster.name },
  );
}

function createEntry(input: Input, context: Context): Output {
  const { account, region, now, principal, state } = context;
  const cluster = requireClusterWithEntries(input, context);
  const refuse = (message: string): AwsError => eksErrors.invalidParameter(message, { clusterName: cluster.name });
  const principalArn = optionalString(input, 'principalArn') ?? '';
  const { type, kubernetesGroups, username, tags } = input;
  // EKS accepts other types and tags. It refuses groups and a user name for this type.
  if (type !== 'FARGATE_LINUX' || [kubernetesGroups, username, tags].some((member) => member !== undefined))
    throw refuse('The emulator knows the type FARGATE_LINUX only, without groups, user name and tags');
  if (cluster.accessEntries.has(principalArn)) {
    throw eksErrors.resourceInUse('The specified access entry resource is already in use on this cluster.', {
      clusterName: cluster.name,
    });
  }
  const role = roleWithArn(account, principalArn);
  const isSeen =
    role !== undefined && versionVisibleAfter(role, state.config.iam.trustVisibleToEksMs, now) !== undefined;
  if (!isSeen) throw refuse('The specified principalArn is invalid: invalid principal.');
  const entry = addAccessEntry(cluster, { account, region: region.name, uuid: state.env.uuid() }, now, {
    principalArn,
    principalId: role.id,
    foreign: principal.foreign,
  });
  return { accessEntry: entryView(cluster, entry) };
}

function deleteEntry(input: Input, context: Context): Output {
  const cluster = requireClusterWithEntries(input, context);
  const { principalArn } = requireEntry(input, cluster);
  cluster.accessEntries.delete(principalArn);
  cluster.deletedAccessEntries.add(principalArn);
  return {};
}

function entryResource(input: Input, context: Context): string {
  const { partition, account } = context.principal;
  const clusterName = optionalString(input, 'clusterName') ?? '';
  const principalArn = optionalString(input, 'principalArn') ?? '';
  const known = context.state.cluster(context.region, clusterName, context.now)?.accessEntries.get(principalArn);
  const role = principalArn.slice(principalArn.lastIndexOf('/') + 1);
  return (
    known?.arn ??
    `arn:${partition}:eks:${context.region.name}:${account}:access-entry/${clusterName}/role/${account}/${role}/*`
  );
}

export const accessEntryOperations: Operations = {
  CreateAccessEntry: { resource: clusterResource, run: createEntry, mutates: true },
  DescribeAccessEntry: {
    resource: entryResource,
    run: (input, context) => {
      const cluster = requireClusterWithEntries(input, context);
      return { accessEntry: entryView(cluster, requireEntry(input, cluster)) };
    },
    mutates: false,
  },
  DeleteAccessEntry: { resource: entryResource, run: deleteEntry, mutates: true },
};
