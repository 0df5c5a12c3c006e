import { ACCOUNT, EKS_CLUSTER } from '../world/cluster.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { type Phases, AT_ONCE, WEB, patchWeb } from './phase.ts';
import { STATIC_IDENTITY } from '../../world/aws/identities.ts';
import { goodKeys, putStaticIdentity } from './identity-objects.ts';

const TOOLS = { name: 'tools', region: 'us-east-1' };

/**
 * Starts a manager that may use the EKS cluster `tools`. Creates an AWSFargateProfile that names this EKS cluster and
 * no Cluster.
 */
function startInTools(
  world: SimulatedWorld,
  eksCluster: { readonly name: string; readonly region?: string; readonly identityRef?: object } = TOOLS,
): void {
  world.start(`--allow-eks-cluster=default=${ACCOUNT}/${eksCluster.region ?? TOOLS.region}/tools`);
  world.applyWith(WEB, { clusterName: undefined, eksCluster });
}

/** Situations of an AWSFargateProfile in an EKS cluster that Cluster API does not manage. */
export const EKS_CLUSTERS: Phases = {
  'eks-cluster-creating': {
    title: 'an object whose EKS cluster is CREATING',
    arrange: (world) => {
      world.aws.admin.createCluster({ name: 'tools' });
      world.aws.admin.setCluster({ name: 'tools', status: 'CREATING' });
      startInTools(world);
    },
    until: ['Reconciling', 'True', 'WaitingForEKSCluster'],
    readAfter: AT_ONCE,
    remedy: (world) => world.aws.admin.setCluster({ name: 'tools', status: 'ACTIVE' }),
  },
  'eks-cluster-not-allowed': {
    title: 'an object in an EKS cluster that the operator does not allow',
    arrange: (world) => {
      startInTools(world, { ...TOOLS, name: 'payments' });
    },
    until: ['Stalled', 'True', 'NotAllowedByOperator'],
    endsAs: 'nothing',
  },
  'eks-cluster-missing': {
    title: 'an object whose EKS cluster does not exist',
    arrange: (world) => startInTools(world),
    until: ['Stalled', 'True', 'EKSClusterNotFound'],
    remedy: (world) => void world.aws.admin.createCluster({ name: 'tools' }),
  },
  'eks-cluster-not-named': {
    title: 'an object whose eksCluster another CRD has dropped',
    arrange: async (world) => {
      world.aws.admin.createCluster({ name: 'tools' });
      startInTools(world);
      await world.ready(WEB);
      patchWeb(world, { spec: { eksCluster: null } });
    },
    until: ['Stalled', 'True', 'ClusterNotNamed'],
    remedy: (world) => patchWeb(world, { spec: { eksCluster: TOOLS } }),
  },
  'eks-cluster-of-a-control-plane': {
    title: 'a new object in the EKS cluster of a control plane of its namespace',
    arrange: (world) => {
      world.start(`--allow-eks-cluster=default=${ACCOUNT}/us-east-1/*`);
      world.applyWith(WEB, { clusterName: undefined, eksCluster: { ...TOOLS, name: EKS_CLUSTER } });
    },
    until: ['Stalled', 'True', 'UseClusterName'],
    endsAs: 'nothing',
  },
  'eks-cluster-identity-not-found': {
    title: 'an object whose eksCluster names an identity that does not exist',
    arrange: (world) => {
      world.aws.admin.createCluster({ name: 'tools' });
      startInTools(world, { ...TOOLS, identityRef: { kind: STATIC_IDENTITY, name: 'team-a' } });
    },
    until: ['CredentialsReady', 'False', 'IdentityNotFound'],
    remedy: (world) => putStaticIdentity(world, goodKeys(world)),
  },
  'eks-cluster-region-not-enabled': {
    title: 'an object whose eksCluster is in a region that is not enabled in the account',
    arrange: (world) => {
      const region = 'af-south-1';
      world.aws.admin.createCluster({ name: 'tools', region });
      world.aws.admin.setRegionEnabled({ region, enabled: false });
      startInTools(world, { name: 'tools', region });
    },
    until: ['CredentialsReady', 'False', 'RegionNotEnabled'],
    remedy: (world) => world.aws.admin.setRegionEnabled({ region: 'af-south-1', enabled: true }),
  },
  'region-unknown': {
    title: 'an object without region under a manager that does not know its own region',
    arrange: (world) => startInTools(world, { name: 'tools' }),
    until: ['Stalled', 'True', 'RegionUnknown'],
    endsAs: 'nothing',
  },
  'subnet-choice-denied': {
    title: 'an object for which EKS may not choose the subnets',
    arrange: (world) => {
      world.aws.admin.createCluster({ name: 'tools' });
      world.aws.admin.deny({ principal: '*', action: 'ec2:DescribeRouteTables' });
      startInTools(world);
    },
    until: ['Stalled', 'True', 'SubnetChoiceDenied'],
    remedy: (world) => world.aws.admin.allow(),
  },
};
