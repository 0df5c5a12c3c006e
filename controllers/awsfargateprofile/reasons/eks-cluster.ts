import type { Ms } from 'controller-runtime/env';
import type { Denial } from '../../../pkg/cloud/index.ts';
import { defineReason, MINUTE, SECOND, pollDoubling, MISSING_PATIENCE } from './definition.ts';
import { remedyForPolicy, RETRIES, quoted, type OfTarget } from './wording.ts';

const eks = { conditionType: 'EKSFargateProfileReady' } as const;

export const EKS_CLUSTER_REASONS = {
  EKSClusterNotFound: defineReason<
    OfTarget & { readonly cluster: string; readonly region: string; readonly account?: string }
  >({
    nature: 'human',
    conditionType: 'EKSFargateProfileReady',
    poll: pollDoubling(15 * SECOND, 5 * MINUTE),
    describe: ({ cluster, region, account }) =>
      `EKS cluster ${quoted(cluster)} does not exist in region ${region}` +
      (account === undefined ? '' : ` of account ${account}`),
    remedy: ({ isOfObject = false }) =>
      isOfObject
        ? `Create the EKS cluster, or fix spec.eksCluster.identityRef if the EKS cluster is in another account. Or delete this object, which also deletes its role unless spec.deletionPolicy is Retain. For another EKS cluster, create another AWSFargateProfile. ${RETRIES}`
        : `Look at the conditions of the control plane, whose provider creates the EKS cluster. Or, if the EKS cluster exists elsewhere, fix spec.eksClusterName, spec.region or spec.identityRef of the control plane. ${RETRIES}`,
  }),
  WaitingForEKSCluster: defineReason<{ readonly cluster: string; readonly status: string }>({
    nature: 'wait',
    ...eks,
    poll: pollDoubling(5 * SECOND, MINUTE),
    describe: ({ cluster, status }) =>
      `EKS cluster ${quoted(cluster)} is in status ${status}, but the controller creates a Fargate profile only while the status is ACTIVE`,
    remedy: ({ status }) =>
      status === 'FAILED' ? `Repair the EKS cluster. ${RETRIES}` : 'The controller waits and then continues',
  }),
  /** `said` is EKS's answer to a profile change in this cluster. No such change is sent for the `remaining` time. */
  ClusterUpdating: defineReason<{ readonly cluster: string; readonly said: string; readonly remaining: Ms }>({
    nature: 'wait',
    ...eks,
    poll: (_waited, { remaining }) => Math.max(remaining, SECOND / 2),
    describe: ({ cluster, said }) =>
      `EKS rejects changes of the Fargate profiles of EKS cluster ${quoted(cluster)} for now. EKS says: ${said}`,
    remedy: () => `If the EKS cluster is in status FAILED, repair it; otherwise no action is needed. ${RETRIES}`,
  }),
  SubnetChoiceDenied: defineReason<{ readonly detail: string; readonly denial: Denial }>({
    nature: 'human',
    ...eks,
    patience: MISSING_PATIENCE,
    poll: pollDoubling(15 * SECOND, 5 * MINUTE),
    describe: ({ detail }) =>
      `spec.subnetIDs is empty, so EKS has to choose the private subnets of the EKS cluster, and AWS denies this to the credentials of the controller. AWS says: ${detail}`,
    remedy: ({ denial: { policy } }) =>
      `${remedyForPolicy('ec2:DescribeSubnets and ec2:DescribeRouteTables', policy)}. Or name private subnets in spec.subnetIDs. ${RETRIES}`,
  }),
} as const;

/** A reconcile of this process watches the change, and its end enqueues the waiting object. */
const OBSERVED_SIBLING_POLL: Ms = 30 * SECOND;
/** No reconcile watches the change, for example because another manager sent it. */
const UNOBSERVED_SIBLING_POLL: Ms = 5 * SECOND;

export const SIBLING_REASONS = {
  /** `doing` completes the sentence "Fargate profile x is …". */
  WaitingForSibling: defineReason<{ readonly ahead: string; readonly doing: string; readonly isUnverified: boolean }>({
    nature: 'wait',
    conditionType: 'EKSFargateProfileReady',
    poll: (_waited, { isUnverified }) => (isUnverified ? UNOBSERVED_SIBLING_POLL : OBSERVED_SIBLING_POLL),
    describe: ({ ahead, doing }) =>
      `EKS changes only one Fargate profile of a cluster at a time, and Fargate profile ${quoted(ahead)} is ${doing}`,
    remedy: () => 'The controller waits, and then continues with this object',
  }),
} as const;
