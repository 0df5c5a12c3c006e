import type { Ms } from 'controller-runtime/env';
import type { Denial } from '../../../pkg/cloud/index.ts';
import { defineReason, EKS, MISSING_PATIENCE } from './definition.ts';
import { pollAfterRest, pollForMissing, pollSibling, pollSoon } from './delays.ts';
import { quoteAws, remedyForPolicy, retries, quoted, type OfTarget } from './wording.ts';

export const EKS_CLUSTER_REASONS = {
  /** `hasExisted`: the object has had a profile or role for this EKS cluster. */
  EKSClusterNotFound: defineReason<
    OfTarget & {
      readonly hasExisted?: boolean;
      readonly cluster: string;
      readonly region: string;
      readonly account?: string;
    }
  >({
    nature: 'human',
    ...EKS,
    poll: pollForMissing,
    problem: ({ cluster, region, account, hasExisted = false }) =>
      `EKS cluster ${quoted(cluster)} ${hasExisted ? 'no longer exists' : 'does not exist'} in region ${region}` +
      (account === undefined ? '' : ` of account ${account}`) +
      (hasExisted ? '; its Fargate profiles and their pods are gone too' : ''),
    remedy: ({ isOfObject = false, hasExisted = false }) => {
      if (hasExisted)
        return `If the EKS cluster was deleted on purpose, delete this object; if not, ${isOfObject ? 'recreate the EKS cluster' : 'look at the conditions of the control plane'}`;
      return isOfObject
        ? 'Create the EKS cluster, or, if it is in another account, fix spec.eksCluster.identityRef. If you no longer need the EKS cluster, delete this object'
        : 'Look at the conditions of the control plane, whose provider creates the EKS cluster. If the EKS cluster exists elsewhere, fix spec.eksClusterName, spec.region or spec.identityRef of the control plane';
    },
    outlook: retries,
  }),
  WaitingForEKSCluster: defineReason<{ readonly cluster: string; readonly status: string }>({
    nature: 'wait',
    ...EKS,
    poll: pollSoon,
    problem: ({ cluster, status }) =>
      `EKS cluster ${quoted(cluster)} is in status ${status}, but the controller creates a Fargate profile only while the status is ACTIVE`,
    remedy: ({ status }) => (status === 'FAILED' ? 'Repair the EKS cluster' : undefined),
    outlook: ({ status }) => (status === 'FAILED' ? retries() : 'The controller waits and then continues'),
  }),
  /** `said` is EKS's answer to a profile change in this cluster. No such change is sent for the `remaining` time. */
  ClusterUpdating: defineReason<{ readonly cluster: string; readonly said: string; readonly remaining: Ms }>({
    nature: 'wait',
    ...EKS,
    poll: pollAfterRest,
    problem: ({ cluster }) => `EKS currently rejects changes to the Fargate profiles of EKS cluster ${quoted(cluster)}`,
    remedy: () => 'Repair the EKS cluster if its status is FAILED; if not, no action is needed',
    outlook: retries,
    quote: ({ said }) => ({ by: 'EKS', said }),
  }),
  SubnetChoiceDenied: defineReason<{ readonly detail: string; readonly denial: Denial }>({
    nature: 'human',
    ...EKS,
    patience: MISSING_PATIENCE,
    poll: pollForMissing,
    problem: () =>
      "spec.subnetIDs is empty, so EKS has to choose the private subnets of the EKS cluster, and AWS denies this to the controller's credentials",
    remedy: ({ denial: { policy } }) =>
      `${remedyForPolicy('ec2:DescribeSubnets and ec2:DescribeRouteTables', policy)}, or name private subnets in spec.subnetIDs`,
    outlook: retries,
    quote: quoteAws,
  }),
  /** `doing` completes the sentence "Fargate profile x is …". */
  WaitingForSibling: defineReason<{ readonly ahead: string; readonly doing: string; readonly isUnverified: boolean }>({
    nature: 'wait',
    ...EKS,
    poll: pollSibling,
    problem: ({ ahead, doing }) =>
      `EKS changes only one Fargate profile of a cluster at a time, and Fargate profile ${quoted(ahead)} is ${doing}`,
    outlook: () => 'The controller waits, and then continues with this object',
  }),
} as const;
