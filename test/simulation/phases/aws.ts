import { AWS_ENDPOINTS } from '../../../pkg/cloud/testing/endpoints.ts';
import type { FaultKind } from '../../aws/faults.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { EKS_CLUSTER, HOUR, MINUTE } from '../world/cluster.ts';
import type { Phases } from './phase.ts';
import { AT_ONCE, deleteHeld, denyAction, patchControlPlane, patchWeb, serveClusters } from './phase.ts';

const fault = (world: SimulatedWorld, operation: string, kind: FaultKind): void =>
  void world.aws.admin.addFault({ operation, kind });
const noFaults = (world: SimulatedWorld): void => world.aws.admin.clearFaults();
const allowAll = (world: SimulatedWorld): void => world.aws.admin.allow();

/** Replaces the subnets that the control plane lists with one private subnet with the given id. */
const listSubnet = (world: SimulatedWorld, id: string): void =>
  patchControlPlane(world, { spec: { network: { subnets: [{ id, resourceID: id, isPublic: false }] } } });

/** Situations in which AWS answers the manager with an error, or does not answer. */
export const AWS: Phases = {
  'sdk-refused': {
    title: 'FIPS endpoints beside a custom endpoint',
    before: (world) => {
      const urlFor = (service: string): string | undefined =>
        service === 'eks' ? 'http://eks.example.org/' : undefined;
      world.endpoints = { ...AWS_ENDPOINTS, urlFor, fips: true };
    },
    until: ['Ready', 'False', 'SDKRefused'],
    remedy: (world) => {
      world.managers.at(-1)?.kill();
      world.endpoints = AWS_ENDPOINTS;
      world.start();
    },
  },
  'aws-unreachable-before-ready': {
    title: 'a new profile while AWS does not answer',
    before: (world) => fault(world, 'eks:*', 'no-answer-before'),
    until: ['Ready', 'False', 'AWSUnavailable'],
    remedy: noFaults,
  },
  'aws-unreachable-for-10m': {
    title: 'a Ready profile after ten minutes without answers of AWS',
    afterWatched: (world) => fault(world, '*', 'no-answer-before'),
    until: ['Ready', 'True'],
    readAfter: 10 * MINUTE,
    remedy: noFaults,
  },
  'aws-unreachable-for-20m': {
    title: 'a Ready profile after twenty minutes without answers of AWS',
    afterWatched: async (world) => {
      fault(world, '*', 'no-answer-before');
      await world.clock.advance(14 * MINUTE);
    },
    until: ['Ready', 'Unknown', 'AWSUnavailable'],
    readAfter: 5 * MINUTE,
    remedy: noFaults,
  },
  'aws-throttles-for-1h': {
    title: 'a Ready profile after half an hour of throttled AWS calls',
    afterWatched: (world) => fault(world, '*', 'throttle'),
    until: ['Ready', 'Unknown', 'AWSUnavailable'],
    remedy: noFaults,
  },
  'aws-throttles-before-ready': {
    title: 'a new profile while AWS throttles the create',
    before: (world) => fault(world, 'CreateFargateProfile', 'throttle'),
    until: ['Ready', 'False', 'AWSUnavailable'],
    readAfter: 5 * MINUTE,
    remedy: noFaults,
  },
  'aws-error': {
    title: 'an unknown AWS error in its first minute',
    before: (world) => fault(world, 'CreateFargateProfile', 'error:PhaseOfTheMoonException:The moon is full.'),
    until: ['Ready', 'False', 'AWSError'],
    readAfter: AT_ONCE,
    remedy: noFaults,
  },
  'aws-error-for-1h': {
    title: 'an unknown AWS error after an hour',
    before: (world) => fault(world, 'CreateFargateProfile', 'error:PhaseOfTheMoonException:The moon is full.'),
    until: ['Stalled', 'True', 'AWSError'],
    readAfter: HOUR,
    remedy: noFaults,
  },
  'role-creation-denied': {
    title: 'a manager without permission to create roles',
    before: (world) => denyAction(world, 'iam:CreateRole'),
    until: ['Stalled', 'True', 'AccessDenied'],
    remedy: allowAll,
  },
  'profile-creation-denied': {
    title: 'a manager without permission to create profiles',
    before: (world) => denyAction(world, 'eks:CreateFargateProfile'),
    until: ['Stalled', 'True', 'AccessDenied'],
    remedy: allowAll,
  },
  'pass-role-denied': {
    title: 'a manager without permission to pass the role to EKS',
    before: (world) => denyAction(world, 'iam:PassRole'),
    until: ['Stalled', 'True', 'AccessDenied'],
    remedy: allowAll,
  },
  'reading-denied-while-ready': {
    title: 'a Ready profile of a manager that loses its read permission',
    afterWatched: (world) => denyAction(world, 'eks:DescribeFargateProfile'),
    until: ['Stalled', 'True', 'AccessDenied'],
    remedy: allowAll,
  },
  'policy-not-found': {
    title: 'an additional policy that does not exist',
    spec: { roleAdditionalPolicies: ['arn:aws:iam::123456789012:policy/nowhere'] },
    until: ['Stalled', 'True', 'Refused'],
    remedy: (world) => void world.aws.admin.putPolicy({ name: 'nowhere' }),
  },
  'subnets-of-control-plane-refused': {
    title: 'a control plane that lists a subnet that does not exist',
    before: (world) => listSubnet(world, 'subnet-0123456789abcdef0'),
    until: ['Stalled', 'True', 'Refused'],
    remedy: (world) => {
      const [cluster] = world.aws.admin.clusters();
      listSubnet(world, cluster?.subnets.find(({ isPublic }) => !isPublic)?.id ?? '');
    },
  },
  'role-quota': {
    title: 'an account at its quota of roles',
    options: { aws: { iam: { maxRoles: 0 } } },
    until: ['Stalled', 'True', 'AWSQuotaExceeded'],
    remedy: (world) => world.aws.admin.setConfig({ iam: { maxRoles: 10 } }),
  },
  'eks-cluster-not-found': {
    title: 'a ready control plane whose EKS cluster does not exist',
    before: (world) => world.aws.admin.removeCluster({ name: EKS_CLUSTER }),
    until: ['Stalled', 'True', 'EKSClusterNotFound'],
    endsAs: 'nothing',
  },
  'eks-cluster-gone-while-ready': {
    title: 'a Ready profile whose EKS cluster is deleted',
    afterWatched: (world) => world.aws.admin.removeCluster({ name: EKS_CLUSTER }),
    until: ['Stalled', 'True', 'EKSClusterNotFound'],
    endsAs: 'nothing',
  },
  'eks-cluster-not-active': {
    title: 'a ready control plane whose EKS cluster is CREATING',
    before: (world) => world.aws.admin.setCluster({ name: EKS_CLUSTER, status: 'CREATING' }),
    until: ['Ready', 'False', 'ClusterUpdating'],
    remedy: (world) => world.aws.admin.setCluster({ name: EKS_CLUSTER, status: 'ACTIVE' }),
  },
  'clusters-not-served-while-ready': {
    title: 'a Ready profile half an hour after the API server stopped serving Clusters',
    afterWatched: (world) => world.api.unserve('clusters'),
    until: ['Ready', 'Unknown', 'WaitingForAPI'],
    remedy: serveClusters,
  },
  'ready-in-a-cluster-that-goes': {
    title: 'a Ready profile of a Cluster that is being deleted while its control plane is not',
    afterWatched: (world) => deleteHeld(world, 'clusters', 'prod'),
    until: ['Ready', 'True'],
  },
  'updated-tags': {
    title: 'a profile minutes after a change of its tags',
    after: async (world) => {
      patchWeb(world, { spec: { additionalTags: { team: 'shop' } } });
      await world.clock.advance(MINUTE);
    },
    until: ['Ready', 'True'],
    readAfter: 5 * MINUTE,
  },
};
