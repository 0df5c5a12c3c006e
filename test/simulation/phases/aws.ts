import { AWS_ENDPOINTS } from '../../../pkg/cloud/testing/endpoints.ts';
import type { FaultKind } from '../../aws/faults.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { EKS_CLUSTER, MINUTE } from '../world/cluster.ts';
import type { Phase } from './phase.ts';
import {
  AT_ONCE,
  HOUR,
  startAndApply,
  deleteHeld,
  denyAction,
  patchControlPlane,
  patchWeb,
  startUntilReady,
  serveClusters,
} from './phase.ts';

const fault = (world: SimulatedWorld, operation: string, kind: FaultKind): void =>
  void world.aws.admin.addFault({ operation, kind });
const noFaults = (world: SimulatedWorld): void => world.aws.admin.clearFaults();
const allowAll = (world: SimulatedWorld): void => world.aws.admin.allow();

/** Replaces the subnets that the control plane lists with one private subnet with the given id. */
const listSubnet = (world: SimulatedWorld, id: string): void =>
  patchControlPlane(world, { spec: { network: { subnets: [{ id, resourceID: id, isPublic: false }] } } });

/**
 * Starts a manager that compares every AWSFargateProfile with AWS once a minute. Creates an AWSFargateProfile, and
 * waits until it has been Ready for five minutes.
 */
async function watched(world: SimulatedWorld): Promise<void> {
  world.start('--sync-period', '1m');
  world.apply('web');
  await world.ready('web');
  await world.clock.advance(5 * MINUTE);
}

/** Situations in which AWS answers the manager with an error, or does not answer. */
export const AWS: readonly Phase[] = [
  {
    name: 'sdk-refused',
    title: 'FIPS endpoints beside a custom endpoint',
    arrange: (world) => {
      const urlFor = (service: string): string | undefined =>
        service === 'eks' ? 'http://eks.example.org/' : undefined;
      world.endpoints = { ...AWS_ENDPOINTS, urlFor, fips: true };
      startAndApply(world);
    },
    until: ['Ready', 'False', 'SDKRefused'],
    remedy: (world) => {
      world.managers.at(-1)?.kill();
      world.endpoints = AWS_ENDPOINTS;
      world.start();
    },
  },
  {
    name: 'aws-unreachable-before-ready',
    title: 'a new profile while AWS does not answer',
    arrange: (world) => {
      fault(world, 'eks:*', 'no-answer-before');
      startAndApply(world);
    },
    until: ['Ready', 'False', 'AWSUnavailable'],
    remedy: noFaults,
  },
  {
    name: 'aws-unreachable-for-10m',
    title: 'a Ready profile after ten minutes without answers of AWS',
    arrange: async (world) => {
      await watched(world);
      fault(world, '*', 'no-answer-before');
    },
    until: ['Ready', 'True'],
    readAfter: 10 * MINUTE,
    remedy: noFaults,
  },
  {
    name: 'aws-unreachable-for-20m',
    title: 'a Ready profile after twenty minutes without answers of AWS',
    arrange: async (world) => {
      await watched(world);
      fault(world, '*', 'no-answer-before');
      await world.clock.advance(14 * MINUTE);
    },
    until: ['Ready', 'Unknown', 'AWSUnavailable'],
    readAfter: 5 * MINUTE,
    remedy: noFaults,
  },
  {
    name: 'aws-throttles-for-1h',
    title: 'a Ready profile after half an hour of throttled AWS calls',
    arrange: async (world) => {
      await watched(world);
      fault(world, '*', 'throttle');
    },
    until: ['Ready', 'Unknown', 'AWSUnavailable'],
    remedy: noFaults,
  },
  {
    name: 'aws-throttles-before-ready',
    title: 'a new profile while AWS throttles the create',
    arrange: (world) => {
      fault(world, 'CreateFargateProfile', 'throttle');
      startAndApply(world);
    },
    until: ['Ready', 'False', 'AWSUnavailable'],
    readAfter: 5 * MINUTE,
    remedy: noFaults,
  },
  {
    name: 'aws-error',
    title: 'an unknown AWS error in its first minute',
    arrange: (world) => {
      fault(world, 'CreateFargateProfile', 'error:PhaseOfTheMoonException:The moon is full.');
      startAndApply(world);
    },
    until: ['Ready', 'False', 'AWSError'],
    readAfter: AT_ONCE,
    remedy: noFaults,
  },
  {
    name: 'aws-error-for-1h',
    title: 'an unknown AWS error after an hour',
    arrange: (world) => {
      fault(world, 'CreateFargateProfile', 'error:PhaseOfTheMoonException:The moon is full.');
      startAndApply(world);
    },
    until: ['Stalled', 'True', 'AWSError'],
    readAfter: HOUR,
    remedy: noFaults,
  },
  {
    name: 'role-creation-denied',
    title: 'a manager without permission to create roles',
    arrange: (world) => {
      denyAction(world, 'iam:CreateRole');
      startAndApply(world);
    },
    until: ['Stalled', 'True', 'AccessDenied'],
    remedy: allowAll,
  },
  {
    name: 'profile-creation-denied',
    title: 'a manager without permission to create profiles',
    arrange: (world) => {
      denyAction(world, 'eks:CreateFargateProfile');
      startAndApply(world);
    },
    until: ['Stalled', 'True', 'AccessDenied'],
    remedy: allowAll,
  },
  {
    name: 'pass-role-denied',
    title: 'a manager without permission to pass the role to EKS',
    arrange: (world) => {
      denyAction(world, 'iam:PassRole');
      startAndApply(world);
    },
    until: ['Stalled', 'True', 'AccessDenied'],
    remedy: allowAll,
  },
  {
    name: 'reading-denied-while-ready',
    title: 'a Ready profile of a manager that loses its read permission',
    arrange: async (world) => {
      await watched(world);
      denyAction(world, 'eks:DescribeFargateProfile');
    },
    until: ['Stalled', 'True', 'AccessDenied'],
    remedy: allowAll,
  },
  {
    name: 'policy-not-found',
    title: 'an additional policy that does not exist',
    arrange: (world) => startAndApply(world, { roleAdditionalPolicies: ['arn:aws:iam::123456789012:policy/nowhere'] }),
    until: ['Stalled', 'True', 'Refused'],
    remedy: (world) => void world.aws.admin.putPolicy({ name: 'nowhere' }),
  },
  {
    name: 'subnets-of-control-plane-refused',
    title: 'a control plane that lists a subnet that does not exist',
    arrange: (world) => {
      listSubnet(world, 'subnet-0123456789abcdef0');
      startAndApply(world);
    },
    until: ['Stalled', 'True', 'Refused'],
    remedy: (world) => {
      const [cluster] = world.aws.admin.clusters();
      listSubnet(world, cluster?.subnets.find(({ isPublic }) => !isPublic)?.id ?? '');
    },
  },
  {
    name: 'role-quota',
    title: 'an account at its quota of roles',
    options: { aws: { iam: { maxRoles: 0 } } },
    arrange: (world) => startAndApply(world),
    until: ['Stalled', 'True', 'AWSQuotaExceeded'],
    remedy: (world) => world.aws.admin.setConfig({ iam: { maxRoles: 10 } }),
  },
  {
    name: 'eks-cluster-not-found',
    title: 'a ready control plane whose EKS cluster does not exist',
    arrange: (world) => {
      world.aws.admin.removeCluster({ name: EKS_CLUSTER });
      startAndApply(world);
    },
    until: ['Stalled', 'True', 'EKSClusterNotFound'],
    endsAs: 'nothing',
  },
  {
    name: 'eks-cluster-gone-while-ready',
    title: 'a Ready profile whose EKS cluster is deleted',
    arrange: async (world) => {
      await watched(world);
      world.aws.admin.removeCluster({ name: EKS_CLUSTER });
    },
    until: ['Stalled', 'True', 'EKSClusterNotFound'],
    endsAs: 'nothing',
  },
  {
    name: 'eks-cluster-not-active',
    title: 'a ready control plane whose EKS cluster is CREATING',
    arrange: (world) => {
      world.aws.admin.setCluster({ name: EKS_CLUSTER, status: 'CREATING' });
      startAndApply(world);
    },
    until: ['Ready', 'False', 'ClusterUpdating'],
    remedy: (world) => world.aws.admin.setCluster({ name: EKS_CLUSTER, status: 'ACTIVE' }),
  },
  {
    name: 'clusters-not-served-while-ready',
    title: 'a Ready profile half an hour after the API server stopped serving Clusters',
    arrange: async (world) => {
      await watched(world);
      world.api.unserve('clusters');
    },
    until: ['Ready', 'Unknown', 'WaitingForAPI'],
    remedy: serveClusters,
  },
  {
    name: 'ready-in-a-cluster-that-goes',
    title: 'a Ready profile of a Cluster that is being deleted while its control plane is not',
    arrange: async (world) => {
      await watched(world);
      deleteHeld(world, 'clusters', 'prod');
    },
    until: ['Ready', 'True'],
  },
  {
    name: 'updated-tags',
    title: 'a profile minutes after a change of its tags',
    arrange: async (world) => {
      await startUntilReady(world);
      patchWeb(world, { spec: { additionalTags: { team: 'shop' } } });
      await world.clock.advance(MINUTE);
    },
    until: ['Ready', 'True'],
    readAfter: 5 * MINUTE,
  },
];
