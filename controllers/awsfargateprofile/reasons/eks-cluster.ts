import {
  CONTINUES,
  MINUTE,
  MISSING_PATIENCE,
  RETRIES,
  SECOND,
  defineReason,
  pollDoubling,
  pollRarely,
  quoted,
} from './entry.ts';

const eks = { part: 'EKSFargateProfileReady' } as const;

/** Condition reasons about spec.eksCluster that the controller finds in Kubernetes objects alone. */
export const EKS_CLUSTER_NAME_REASONS = {
  /** `provisionedIn` is the AWS location that the object records. */
  ClusterNotNamed: defineReason<{ readonly provisionedIn: string | undefined }>({
    nature: 'human',
    poll: pollRarely,
    describe: () =>
      'the spec has neither clusterName nor eksCluster. Probably the API server dropped eksCluster while the CRD of another provider was installed',
    remedy: ({ provisionedIn }) =>
      provisionedIn === undefined
        ? `Set spec.clusterName to the name of a Cluster of this namespace, or set spec.eksCluster. ${CONTINUES}`
        : `Set spec.eksCluster again as it was: the Fargate profile of this object is in ${provisionedIn} (account/region/EKS cluster). ${CONTINUES}`,
  }),
  /** `cluster` is the name of the Cluster whose spec names the control plane. */
  UseClusterName: defineReason<{
    readonly eksCluster: string;
    readonly controlPlane: string;
    readonly cluster: string | undefined;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ eksCluster, controlPlane }) =>
      `EKS cluster ${quoted(eksCluster)} in spec.eksCluster is that of AWSManagedControlPlane ${controlPlane}, so Cluster API manages it`,
    remedy: ({ cluster }) =>
      `Delete this object, and create it with ${cluster === undefined ? 'spec.clusterName' : `spec.clusterName ${quoted(cluster)}`} instead of spec.eksCluster`,
  }),
  RegionUnknown: defineReason<{ readonly cluster: string }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster }) =>
      `spec.eksCluster has no region for EKS cluster ${quoted(cluster)}, and the controller does not know its own AWS region`,
    remedy: () =>
      `Set AWS_REGION of the manager: the controller then continues on its own. Or delete this object and create it with spec.eksCluster.region, because this field cannot be changed`,
  }),
} as const;

/** Condition reasons about the EKS cluster in spec.eksCluster that the controller finds in answers of AWS. */
export const EKS_CLUSTER_REASONS = {
  /** `status` is the status of the EKS cluster in EKS. */
  WaitingForEKSCluster: defineReason<{ readonly cluster: string; readonly status: string }>({
    nature: 'wait',
    ...eks,
    poll: pollDoubling(5 * SECOND, MINUTE),
    describe: ({ cluster, status }) =>
      `EKS cluster ${quoted(cluster)} has the status ${status}, and the controller creates a Fargate profile only in a cluster with the status ACTIVE`,
    remedy: ({ status }) =>
      status === 'FAILED' ? `Repair the EKS cluster. ${RETRIES}` : 'The controller waits and then continues on its own',
  }),
  /** `detail` is the error message of AWS. */
  SubnetChoiceDenied: defineReason<{ readonly detail: string }>({
    nature: 'human',
    ...eks,
    patience: MISSING_PATIENCE,
    poll: pollDoubling(15 * SECOND, 5 * MINUTE),
    describe: ({ detail }) =>
      `spec.subnetIDs is empty, so EKS has to choose the private subnets of the EKS cluster, and AWS denies this to the credentials of the controller. AWS says: ${detail}`,
    remedy: () =>
      `Allow ec2:DescribeSubnets and ec2:DescribeRouteTables for the credentials that the controller uses. Or name private subnets in spec.subnetIDs. ${RETRIES}`,
  }),
} as const;
