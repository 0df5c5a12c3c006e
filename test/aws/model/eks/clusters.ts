import type { Context, Operations, Output } from '../context.ts';
import { eksErrors } from '../errors.ts';
import { type Input, isRecord, optionalString, stringList, stringMap } from '../input.ts';
import { tagsFault } from './validation.ts';
import { Instant } from '../time.ts';
import type { AuthenticationMode, EmulatedCluster } from '../resources.ts';

export function clusterArn(context: Context, name: string): string {
  return `arn:${context.principal.partition}:eks:${context.region.name}:${context.principal.account}:cluster/${name}`;
}

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

function createCluster(input: Input, context: Context): Output {
  const { state, region, now, principal } = context;
  const name = optionalString(input, 'name') ?? '';
  if (!/^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$/.test(name)) {
    throw eksErrors.invalidParameter('The cluster name is invalid.', { clusterName: name });
  }
  if (state.cluster(region, name, now) !== undefined) {
    throw eksErrors.resourceInUse(`Cluster already exists with name: ${name}`, { clusterName: name });
  }
  const vpc = isRecord(input['resourcesVpcConfig']) ? input['resourcesVpcConfig'] : {};
  const subnetIds = stringList(vpc, 'subnetIds');
  const subnets = subnetIds.map((id) => {
    const subnet = region.subnets.get(id);
    if (subnet === undefined) throw eksErrors.invalidParameter(`The subnet ID '${id}' does not exist`);
    return subnet;
  });
  const tags = stringMap(input, 'tags');
  const fault = tagsFault(tags);
  if (fault !== undefined) throw eksErrors.invalidParameter(fault, { clusterName: name });
  const access = isRecord(input['accessConfig']) ? input['accessConfig'] : {};
  const cluster: EmulatedCluster = {
    name,
    arn: clusterArn(context, name),
    createdAt: now,
    roleArn: optionalString(input, 'roleArn') ?? '',
    vpcId: subnets[0]?.vpcId ?? 'vpc-none',
    subnetIds,
    foreign: principal.foreign,
    profiles: new Map(),
    accessEntries: new Map(),
    deletedAccessEntries: new Set(),
    awsAuthRoleArns: [],
    requests: new Map(),
    status: 'CREATING',
    authenticationMode: readAuthenticationMode(access),
    deletionProtection: input['deletionProtection'] === true,
    tags,
    updates: [],
    transition: { at: now + state.draw(state.config.eks.clusterCreateMs), to: 'ACTIVE' },
  };
  region.clusters.set(name, cluster);
  return { cluster: clusterView(cluster) };
}

function readAuthenticationMode(access: Input): AuthenticationMode {
  const mode = optionalString(access, 'authenticationMode') ?? 'CONFIG_MAP';
  if (mode === 'API' || mode === 'API_AND_CONFIG_MAP' || mode === 'CONFIG_MAP') return mode;
  throw eksErrors.invalidParameter(`Invalid authentication mode ${mode}`);
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
    cluster.transition = { at: now + state.draw(state.config.eks.clusterDeleteMs), to: 'gone' };
  }
  return { cluster: clusterView(cluster) };
}

/**
 * Updates the deletion protection, which EKS changes immediately. The other settings that EKS can update are not
 * emulated.
 */
function updateClusterConfig(input: Input, context: Context): Output {
  const cluster = requireCluster(input, 'name', context);
  const { deletionProtection } = input;
  if (typeof deletionProtection !== 'boolean')
    throw eksErrors.invalidParameter('Only deletionProtection can be updated', { clusterName: cluster.name });
  cluster.deletionProtection = deletionProtection;
  const params = [{ type: 'DeletionProtection', value: `${deletionProtection}` }];
  return { update: { id: context.state.env.uuid(), status: 'Successful', type: 'DeletionProtectionUpdate', params } };
}

const resource = (input: Input, context: Context): string => clusterArn(context, optionalString(input, 'name') ?? '*');

export const clusterOperations: Operations = {
  CreateCluster: { resource, run: createCluster, mutates: true },
  DescribeCluster: {
    resource,
    run: (input, context) => ({ cluster: clusterView(requireCluster(input, 'name', context)) }),
    mutates: false,
  },
  UpdateClusterConfig: { resource, run: updateClusterConfig, mutates: true },
  DeleteCluster: { resource, run: deleteCluster, mutates: true },
};
