/**
 * The code of the quota "Fargate On-Demand vCPU resource count" of the service `fargate`, per account and region:
 * https://docs.aws.amazon.com/general/latest/gr/ecs-service.html
 */
export const VCPU_QUOTA = 'L-3032A538';

/** aws/containers-roadmap#2654. */
const RECREATE =
  'Then delete the pod, and create it again unless its controller does: fargate-scheduler may not try again.';
const ROUTE = 'a NAT gateway, or VPC endpoints for ecr.api, ecr.dkr, s3, sts, ec2, eks and logs';
const OTHER_SUBNETS = 'Create a profile with subnets in other zones (spec.subnetIDs of an AWSFargateProfile).';

/** The first match is used. Most texts come from reports by EKS users, in the thread above each entry. */
const FIXES: readonly (readonly [said: RegExp, fix: string])[] = [
  // aws/containers-roadmap#2034
  [
    /capacity is (?:currently )?unavailable/i,
    `AWS has no capacity in the zones of the profile at the moment. Wait, or: ${OTHER_SUBNETS} ${RECREATE}`,
  ],
  // terraform-aws-modules/terraform-aws-eks#1758
  [
    /reached the limit on the number of/i,
    `Request a higher quota in Service Quotas: AWS Fargate, ${VCPU_QUOTA}. ${RECREATE}`,
  ],
  // clowdhaus/eks-reference-architecture#12
  [/account is currently blocked/i, 'Only AWS Support can unblock the account.'],
  // awsdocs/amazon-eks-user-guide#262
  [/not supported in the requested availability zone/i, `${OTHER_SUBNETS} ${RECREATE}`],
  [
    /no free (?:ip )?addresses|not enough free|insufficientfreeaddresses/i,
    `Free addresses in the subnets of the profile, or: ${OTHER_SUBNETS} ${RECREATE}`,
  ],
  // aws/containers-roadmap#2441
  [
    /not found in auth config|required permissions for launching fargate pods/i,
    `The access entry of the pod execution role is missing, or belongs to an earlier role of its name: recreate the entry. ${RECREATE}`,
  ],
  [
    /failed to assume podexecutionrole/i,
    `The pod execution role must exist and trust eks-fargate-pods.amazonaws.com. ${RECREATE}`,
  ],
  [
    /profile (?:is being|has been|was) deleted|profile (?:not found|does not exist)/i,
    `The profile of the pod is gone, or will be soon; create another. ${RECREATE}`,
  ],
  // aws/aws-cdk#23375, kubernetes-sigs/aws-efs-csi-driver#793
  [/PVC \S{1,253} not bound/, `Wait until the claim is Bound. ${RECREATE}`],
  // kubernetes-sigs/aws-ebs-csi-driver#810, cert-manager/csi-driver#267
  [
    /bound to invalid pv|volumes not supported/i,
    `Of persistent volumes, Fargate mounts those of EFS only. ${RECREATE}`,
  ],
  [/pod not supported on fargate/i, `Remove the fields that the message names from the pod. ${RECREATE}`],
  // aws/containers-roadmap#1890
  [/provisioning timed out/i, `EKS tries again. If this lasts, the subnets of the profile lack a route: ${ROUTE}.`],
  // aws/containers-roadmap#1864
  [/cfs_quota_us/, 'Set the CPU request of each container to its limit.'],
  [/failed to resolve "?fs-/i, 'EFS needs a mount target in the zone; the VPC needs DNS support and DNS hostnames.'],
  [/i\/o timeout|dial tcp|deadline exceeded/i, `The subnets of the profile lack a route to the registry: ${ROUTE}.`],
  [
    /(?:pull|resolve).{0,999}(?:unauthorized|forbidden|denied)/i,
    'The pod execution role (for Amazon ECR) or imagePullSecrets must allow the pull.',
  ],
  // terraform-aws-modules/terraform-aws-eks#2864
  [
    /taint \{eks\.amazonaws\.com\/compute-type: fargate\}|no nodes available/,
    'No Fargate profile has taken the pod, so the scheduler of Kubernetes looks for a node.',
  ],
];

/** `said` is the text of an event or condition of a pod on Fargate. */
export const findFix = (said: string): string | undefined => FIXES.find(([text]) => text.test(said))?.[1];
