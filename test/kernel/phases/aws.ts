import type { FaultKind } from '../../aws/faults.ts';
import type { KernelWorld } from '../world.ts';
import { EKS_CLUSTER, MINUTE } from '../world.ts';
import type { Phase } from './phase.ts';
import { AT_ONCE, HOUR, applied, deleteHeld, denyTo, patchWeb, ready, serveClusters } from './phase.ts';

const fault = (world: KernelWorld, operation: string, kind: FaultKind): void =>
  void world.aws.admin.addFault({ operation, kind });
const noFaults = (world: KernelWorld): void => world.aws.admin.clearFaults();
const allowAll = (world: KernelWorld): void => world.aws.admin.allow();

/** Ready for long, and looked at each minute. */
async function watched(world: KernelWorld): Promise<void> {
  world.start('--sync-period', '1m');
  world.apply('web');
  await world.ready('web');
  await world.clock.advance(5 * MINUTE);
}

/** What AWS says to any call, or does not say. */
export const AWS: readonly Phase[] = [
  {
    name: 'aws-unreachable-before-ready',
    says: 'an AWS that does not answer while a profile is to be made',
    arrange: (world) => {
      fault(world, 'eks:*', 'no-answer-before');
      applied(world);
    },
    until: ['Ready', 'False', 'AWSUnavailable'],
    cure: noFaults,
  },
  {
    name: 'aws-unreachable-for-10m',
    says: 'a profile that was Ready when AWS went out of reach, ten minutes later',
    arrange: async (world) => {
      await watched(world);
      fault(world, '*', 'no-answer-before');
    },
    until: ['Ready', 'True'],
    readAfter: 10 * MINUTE,
    cure: noFaults,
  },
  {
    name: 'aws-unreachable-for-20m',
    says: 'a profile that was Ready when AWS went out of reach, twenty minutes later',
    arrange: async (world) => {
      await watched(world);
      fault(world, '*', 'no-answer-before');
      await world.clock.advance(14 * MINUTE);
    },
    until: ['Ready', 'Unknown', 'AWSUnavailable'],
    readAfter: 5 * MINUTE,
    cure: noFaults,
  },
  {
    name: 'aws-throttles-for-1h',
    says: 'a profile that was Ready when AWS began to throttle everything',
    arrange: async (world) => {
      await watched(world);
      fault(world, '*', 'throttle');
    },
    until: ['Ready', 'Unknown', 'AWSUnavailable'],
    cure: noFaults,
  },
  {
    name: 'aws-throttles-before-ready',
    says: 'an AWS that throttles while a profile is to be made',
    arrange: (world) => {
      fault(world, 'CreateFargateProfile', 'throttle');
      applied(world);
    },
    until: ['Ready', 'False', 'AWSUnavailable'],
    cure: noFaults,
  },
  {
    name: 'aws-error',
    says: 'an error of AWS that nobody knows, in its first minute',
    arrange: (world) => {
      fault(world, 'CreateFargateProfile', 'error:PhaseOfTheMoonException:The moon is full.');
      applied(world);
    },
    until: ['Ready', 'False', 'AWSError'],
    readAfter: AT_ONCE,
    cure: noFaults,
  },
  {
    name: 'aws-error-for-1h',
    says: 'an error of AWS that nobody knows, an hour later',
    arrange: (world) => {
      fault(world, 'CreateFargateProfile', 'error:PhaseOfTheMoonException:The moon is full.');
      applied(world);
    },
    until: ['Stalled', 'True', 'AWSError'],
    readAfter: HOUR,
    cure: noFaults,
  },
  {
    name: 'role-creation-denied',
    says: 'a manager that may not make roles',
    arrange: (world) => {
      denyTo(world, 'iam:CreateRole');
      applied(world);
    },
    until: ['Stalled', 'True', 'AccessDenied'],
    cure: allowAll,
  },
  {
    name: 'profile-creation-denied',
    says: 'a manager that may not make profiles',
    arrange: (world) => {
      denyTo(world, 'eks:CreateFargateProfile');
      applied(world);
    },
    until: ['Stalled', 'True', 'AccessDenied'],
    cure: allowAll,
  },
  {
    name: 'pass-role-denied',
    says: 'a manager that may not pass the role to EKS',
    arrange: (world) => {
      denyTo(world, 'iam:PassRole');
      applied(world);
    },
    until: ['Stalled', 'True', 'AccessDenied'],
    cure: allowAll,
  },
  {
    name: 'reading-denied-while-ready',
    says: 'a manager that may not read the profile any more, while that is Ready',
    arrange: async (world) => {
      await watched(world);
      denyTo(world, 'eks:DescribeFargateProfile');
    },
    until: ['Stalled', 'True', 'AccessDenied'],
    cure: allowAll,
  },
  {
    name: 'policy-not-found',
    says: 'an additional policy that does not exist',
    arrange: (world) => applied(world, { roleAdditionalPolicies: ['arn:aws:iam::123456789012:policy/nowhere'] }),
    until: ['Stalled', 'True', 'Refused'],
    cure: (world) => void world.aws.admin.putPolicy({ name: 'nowhere' }),
  },
  {
    name: 'role-quota',
    says: 'an account that may have no more roles',
    options: { aws: { iam: { maxRoles: 0 } } },
    arrange: (world) => applied(world),
    until: ['Stalled', 'True', 'AWSQuotaExceeded'],
    cure: (world) => world.aws.admin.setConfig({ iam: { maxRoles: 10 } }),
  },
  {
    name: 'eks-cluster-not-found',
    says: 'a cluster that EKS does not know, under a control plane that calls itself ready',
    arrange: (world) => {
      world.aws.admin.removeCluster({ name: EKS_CLUSTER });
      applied(world);
    },
    until: ['Stalled', 'True', 'EKSClusterNotFound'],
    comesTo: 'nothing',
  },
  {
    name: 'eks-cluster-gone-while-ready',
    says: 'a profile that was Ready when somebody deleted its EKS cluster',
    arrange: async (world) => {
      await watched(world);
      world.aws.admin.removeCluster({ name: EKS_CLUSTER });
    },
    until: ['Stalled', 'True', 'EKSClusterNotFound'],
    comesTo: 'nothing',
  },
  {
    name: 'eks-cluster-not-active',
    says: 'a cluster that EKS is still creating, under a control plane that calls itself ready',
    arrange: (world) => {
      world.aws.admin.setCluster({ name: EKS_CLUSTER, status: 'CREATING' });
      applied(world);
    },
    until: ['Ready', 'False', 'ClusterUpdating'],
    cure: (world) => world.aws.admin.setCluster({ name: EKS_CLUSTER, status: 'ACTIVE' }),
  },
  {
    name: 'clusters-not-served-while-ready',
    says: 'a profile that was Ready when the API server forgot the kind of its Cluster, an hour later',
    arrange: async (world) => {
      await watched(world);
      world.api.unserve('clusters');
    },
    until: ['Ready', 'Unknown', 'WaitingForAPI'],
    cure: serveClusters,
  },
  {
    name: 'ready-in-a-cluster-that-goes',
    says: 'a profile that is Ready, of a Cluster that is being deleted while its control plane is not',
    arrange: async (world) => {
      await watched(world);
      deleteHeld(world, 'clusters', 'prod');
    },
    until: ['Ready', 'True'],
  },
  {
    name: 'updated-tags',
    says: 'a profile whose tags were changed, minutes later',
    arrange: async (world) => {
      await ready(world);
      patchWeb(world, { spec: { additionalTags: { team: 'shop' } } });
      await world.clock.advance(MINUTE);
    },
    until: ['Ready', 'True'],
    readAfter: 5 * MINUTE,
  },
];
