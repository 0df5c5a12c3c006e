import type { Context, Operations, Output } from '../context.ts';
import { eksErrors } from '../errors.ts';
import { type Input, optionalString } from '../input.ts';
import { Instant } from '../time.ts';
import type { EmulatedAccount, EmulatedCluster, EmulatedRegion } from '../resources.ts';

function clusterArn(context: Context, name: string): string {
  return `arn:${context.principal.partition}:eks:${context.region.name}:${context.principal.account}:cluster/${name}`;
}

/** The ARN of the EKS cluster in a request about something in the cluster. */
export const clusterResource = (input: Input, context: Context): string =>
  clusterArn(context, optionalString(input, 'clusterName') ?? '');

export function requireCluster(input: Input, member: string, context: Context): EmulatedCluster {
  const name = optionalString(input, member) ?? '';
  const cluster = context.state.cluster(context.region, name, context.now);
  if (cluster === undefined) {
    throw eksErrors.resourceNotFound(`No cluster found for name: ${name}.`, { clusterName: name });
  }
  return cluster;
}

/** A placeholder in base64: no server in the tests uses this certificate. */
const NO_CERTIFICATE = Buffer.from('no certificate').toString('base64');

function clusterView(cluster: EmulatedCluster): Output {
  return {
    name: cluster.name,
    arn: cluster.arn,
    createdAt: new Instant(cluster.createdAt),
    version: '1.34',
    platformVersion: 'eks.1',
    endpoint: cluster.apiServer?.endpoint ?? `https://${cluster.name}.eks.invalid`,
    roleArn: cluster.roleArn,
    resourcesVpcConfig: {
      subnetIds: cluster.subnetIds,
      securityGroupIds: [],
      clusterSecurityGroupId: 'sg-0c15700000000000a',
      vpcId: cluster.vpcId,
      endpointPublicAccess: true,
      endpointPrivateAccess: false,
    },
    kubernetesNetworkConfig: { serviceIpv4Cidr: '10.100.0.0/16', ipFamily: 'ipv4' },
    certificateAuthority: { data: cluster.apiServer?.certificateAuthority ?? NO_CERTIFICATE },
    status: cluster.status,
    accessConfig: { authenticationMode: cluster.authenticationMode },
    ...(cluster.deletionProtection !== 'absent' && { deletionProtection: cluster.deletionProtection }),
    health: { issues: [] },
    tags: cluster.tags,
  };
}

/** Adds an EKS cluster. The emulator has no operation CreateCluster, because the manager only uses clusters of others. */
export function addCluster(
  account: EmulatedAccount,
  region: EmulatedRegion,
  now: number,
  wanted: Pick<EmulatedCluster, 'name' | 'vpcId' | 'subnetIds' | 'status' | 'authenticationMode'>,
): EmulatedCluster {
  const cluster: EmulatedCluster = {
    ...wanted,
    arn: `arn:${account.partition}:eks:${region.name}:${account.id}:cluster/${wanted.name}`,
    createdAt: now,
    roleArn: `arn:${account.partition}:iam::${account.id}:role/${wanted.name}-cluster`,
    profiles: new Map(),
    accessEntries: new Map(),
    deletedAccessEntries: new Set(),
    awsAuthRoleArns: [],
    requests: new Map(),
    deletionProtection: false,
    tags: {},
    updates: [],
  };
  region.clusters.set(cluster.name, cluster);
  return cluster;
}

function deleteCluster(input: Input, context: Context): Output {
  const { state, now } = context;
  const cluster = requireCluster(input, 'name', context);
  const members = { clusterName: cluster.name };
  // The service model allows this error for DeleteCluster; AWS does not document the text.
  if (cluster.deletionProtection === true)
    throw eksErrors.invalidRequest(`Cluster ${cluster.name} has deletion protection enabled`, members);
  // The error message names only two profile statuses. AWS does not document whether profiles with other statuses block
  // the deletion too.
  if (cluster.profiles.size > 0)
    throw eksErrors.resourceInUse('Cluster has Fargate Profiles in ACTIVE/CREATING state', members);
  if (cluster.status === 'UPDATING' || cluster.updates.some(({ refuses }) => refuses.includes('deleteCluster'))) {
    throw eksErrors.resourceInUse(
      `Cannot delete because cluster ${cluster.name} currently has an update in progress`,
      members,
    );
  }
  if (cluster.status !== 'DELETING') {
    cluster.status = 'DELETING';
    cluster.goneAt = now + state.draw(state.config.eks.clusterDeleteMs);
  }
  return { cluster: clusterView(cluster) };
}

const resource = (input: Input, context: Context): string => clusterArn(context, optionalString(input, 'name') ?? '*');

export const clusterOperations: Operations = {
  DescribeCluster: {
    resource,
    run: (input, context) => ({ cluster: clusterView(requireCluster(input, 'name', context)) }),
    mutates: false,
  },
  DeleteCluster: { resource, run: deleteCluster, mutates: true },
};
