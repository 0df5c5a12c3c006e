import type { Facts, REASONS } from '../reasons/reasons.ts';

export type ReportedFacts = Pick<Facts, keyof typeof REASONS>;

const ISSUE = {
  code: 'PodExecutionRoleAlreadyInUse',
  message: 'The role is used by a node group',
  resourceIds: ['my-role'],
};
const ROLE = 'my-cluster-default_web_fargate';

/** Example values for the message of each reason: docs/conditions.md shows the messages, and a test reads them. */
export const REASON_EXAMPLES: ReportedFacts = {
  WaitingForCluster: { cluster: 'default/my-cluster' },
  WaitingForAPI: {
    kind: 'Cluster',
    reason: 'the API server does not serve clusters.cluster.x-k8s.io',
    obstacle: { kind: 'notServed', resource: 'clusters.cluster.x-k8s.io' },
  },
  APIServerRefused: {
    message:
      'patching awsfargateprofiles.infrastructure.cluster.x-k8s.io default/web: Internal error occurred: failed calling webhook "…": …',
    remedy: 'Fix the webhook "…", or remove it from its webhook configuration',
  },
  ClusterDeleting: { what: 'Cluster default/my-cluster' },
  WaitingForEKSControlPlane: {
    detail: 'AWSManagedControlPlane default/my-control-plane is not ready yet',
    remedy: 'If this lasts, look at its conditions',
  },
  GuardRefused: {
    controlPlane: 'default/my-control-plane',
    reason:
      'patching awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io default/my-control-plane: failed calling webhook "…": …',
  },
  ClusterVanished: { cluster: 'default/my-cluster', remaining: 30_000 },
  MoveAbandoned: { cluster: 'default/my-cluster' },
  RecordUnreadable: { problem: 'is not a JSON object' },
  ClusterDeletionProtected: { cluster: 'default_my-control-plane', region: 'eu-west-1' },
  RetainBlocksClusterDeletion: { name: 'default_web', cluster: 'default_my-control-plane' },
  ForeignSchema: { provider: 'infrastructure-aws', missing: ['spec.deletionPolicy', 'spec.roleARN', 'status.account'] },
  CAPAServesProfiles: { webhook: 'default.awsfargateprofile.infrastructure.cluster.x-k8s.io' },
  ControlPlaneElsewhere: { cluster: 'default/my-cluster', namespace: 'default', named: 'other' },
  ControlPlaneUnsupported: { cluster: 'default/my-cluster', kind: 'KubeadmControlPlane' },
  TargetChanged: { field: 'spec.region', recorded: 'eu-west-1', found: 'eu-central-1' },
  TargetUnknown: {
    missing: 'Cluster default/my-cluster does not exist',
    remedy: 'Restore Cluster default/my-cluster and its AWSManagedControlPlane',
    profile: 'default_web',
    role: ROLE,
    abandonment: 'retain',
  },
  ClusterNotNamed: { provisionedIn: '123456789012/eu-west-1/tools' },
  UseClusterName: { eksCluster: 'tools', controlPlane: 'default/my-control-plane', cluster: 'my-cluster' },
  RegionUnknown: { cluster: 'tools' },
  WaitingForEKSCluster: { cluster: 'tools', status: 'CREATING' },
  SubnetChoiceDenied: {
    detail: 'Missing permissions for ec2:DescribeSubnets (EKS CreateFargateProfile: InvalidRequestException)',
    denial: { action: 'ec2:DescribeSubnets' },
  },
  InvalidSpec: { detail: 'spec.selectors is empty, but a Fargate profile requires at least one selector' },
  TagsInvalid: { detail: 'tag "aws:team" of the control plane: AWS reserves keys that begin with "aws:"' },
  NoPrivateSubnets: { controlPlane: 'default/my-control-plane' },
  CredentialsMissing: {
    detail:
      'the controller has no AWS credentials: the AWS SDK looked in these places: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (not set); the shared configuration files (profile default); AWS_WEB_IDENTITY_TOKEN_FILE (not set); the instance metadata service: Could not load credentials from any providers',
  },
  CredentialsInvalid: {
    detail: "AWS rejects the manager's own credentials",
    said: 'The security token included in the request is invalid. (STS GetCallerIdentity: InvalidClientTokenId)',
    whose: 'the manager itself',
  },
  IdentityUnreadable: {
    detail:
      'spec.identityRef of the control plane names AWSClusterRoleIdentity "team-a", which the controller cannot read: the API server does not serve awsclusterroleidentities.infrastructure.cluster.x-k8s.io',
    obstacle: { kind: 'notServed', resource: 'awsclusterroleidentities.infrastructure.cluster.x-k8s.io' },
  },
  IdentityNotFound: {
    detail: 'spec.identityRef of the control plane names AWSClusterStaticIdentity "team-a", which does not exist',
    missing: 'AWSClusterStaticIdentity "team-a"',
  },
  IdentityNotAllowed: {
    detail:
      'AWSClusterStaticIdentity "team-a" does not allow namespace "default": spec.allowedNamespaces of the identity does not list or select this namespace',
  },
  IdentityLoop: {
    detail:
      'the source identities form a loop: AWSClusterRoleIdentity "a", then AWSClusterRoleIdentity "b", then AWSClusterRoleIdentity "a"',
  },
  IdentityInvalid: {
    detail:
      'AWSClusterRoleIdentity "team-a" is not valid: spec.roleARN is missing: set spec.roleARN to the ARN of an IAM role',
  },
  SecretNotFound: {
    detail: 'Secret capaf-system/team-a of AWSClusterStaticIdentity "team-a" does not exist',
    missing: 'Secret capaf-system/team-a',
  },
  SecretIncomplete: {
    detail: 'Secret capaf-system/team-a of AWSClusterStaticIdentity "team-a" has no SecretAccessKey',
  },
  AssumeRoleDenied: {
    detail:
      'the credentials of AWSClusterStaticIdentity "team-a" cannot assume role arn:aws:iam::210987654321:role/fargate of AWSClusterRoleIdentity "team-b"',
    said: 'User: … is not authorized to perform: sts:AssumeRole on resource: … (STS AssumeRole: AccessDenied)',
    denial: { action: 'sts:AssumeRole' },
  },
  AssumeRoleRefused: {
    detail:
      'the manager\'s own credentials cannot assume role arn:aws:iam::210987654321:role/fargate of AWSClusterRoleIdentity "team-b"',
    said: 'The requested DurationSeconds exceeds the MaxSessionDuration set for this role. (STS AssumeRole: ValidationError)',
  },
  RegionInvalid: { region: 'us_east_1' },
  RegionNotEnabled: {
    detail:
      'The security token included in the request is invalid. (EKS ListFargateProfiles: UnrecognizedClientException)',
    region: 'af-south-1',
    acceptedIn: 'eu-west-1',
    account: '123456789012',
  },
  WrongAccount: { whose: 'AWSClusterStaticIdentity "team-a"', recorded: '123456789012', found: '210987654321' },
  AccountUncertain: {
    cluster: 'tools',
    region: 'eu-west-1',
    account: '210987654321',
    profile: 'default_web',
    role: 'my-role',
  },
  AccessDenied: {
    detail:
      'User: arn:aws:sts::123456789012:assumed-role/capaf/x is not authorized to perform: iam:CreateRole on resource: … with an explicit deny in a service control policy (IAM CreateRole: AccessDenied)',
    denial: { action: 'iam:CreateRole', policy: { kind: 'service control policy', isExplicit: true } },
    called: 'iam:CreateRole',
    region: 'eu-west-1',
    about: 'IAMFargateRolesReady',
  },
  AWSUnavailable: {
    detail: 'no answer within 10 s (EKS DescribeFargateProfile)',
  },
  AWSError: {
    detail: 'The specified resource does not exist. (EKS TagResource: NotFoundException)',
    missing: 'Fargate profile "default_web"',
  },
  SDKRefused: {
    detail: 'Invalid Configuration: FIPS and custom endpoint are not supported (EKS DescribeFargateProfile)',
    region: 'eu-west-1',
    about: 'EKSFargateProfileReady',
  },
  Refused: {
    detail:
      'Subnet subnet-1 provided in Fargate Profile is not a private subnet (EKS CreateFargateProfile: InvalidParameterException)',
    about: 'EKSFargateProfileReady',
  },
  AWSQuotaExceeded: {
    detail: 'Cannot exceed quota for RolesPerAccount: 1000 (IAM CreateRole: LimitExceeded)',
    operation: 'CreateRole',
    about: 'IAMFargateRolesReady',
  },
  EKSClusterNotFound: { cluster: 'default_my-control-plane', region: 'eu-west-1', account: '123456789012' },
  ManagedElsewhere: {
    name: '9999-default_web',
    id: '5cb1e1b7-8a1f-4b3f-9f07-6f0f5a5b6b1c',
    isDeleting: false,
  },
  OwnershipTagMissing: {
    resource: 'Fargate profile',
    name: 'default_web',
    tags: [{ key: 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner', value: 'default/web' }],
    abandonment: 'retain',
    about: 'EKSFargateProfileReady',
  },
  RoleNotOwned: {
    name: ROLE,
    whose: 'an unknown owner (it has no tag that names one)',
    usableArn: `arn:aws:iam::123456789012:role/${ROLE}`,
  },
  RoleNotFound: { name: 'my-role', field: 'spec.roleARN', isSpecFixed: false },
  RoleTrustInvalid: {
    name: 'my-role',
    problem: 'the trust policy is not a JSON policy document',
    mistake: 'notAllowed',
    ours: false,
  },
  RolePathNotMapped: { name: 'pods', path: '/team-a/', field: 'spec.rolePath', cluster: 'default_my-control-plane' },
  RoleSettingsConflict: { name: 'my-role', other: 'AWSFargateProfile default/older', settings: ['rolePath'] },
  WaitingForRoleDeletion: { name: 'my-role', other: 'AWSFargateProfile default/older' },
  RoleRecreated: {
    name: 'my-role',
    arn: 'arn:aws:iam::123456789012:role/my-role',
    id: 'AROAEXAMPLE',
    cluster: 'tools',
    entry: 'outdated',
    ours: false,
  },
  RestoringRole: { name: ROLE, cluster: 'default_my-control-plane' },
  NotAllowedByOperator: {
    about: 'IAMFargateRolesReady',
    excess: [
      {
        field: 'spec.roleAdditionalPolicies[0]',
        value: 'arn:aws:iam::aws:policy/AdministratorAccess',
        allowed: ['arn:aws:iam::123456789012:policy/pods/*'],
      },
    ],
  },
  RoleBlocked: { name: ROLE, blockers: ['the inline policy "extra"'] },
  Propagating: {
    detail:
      'AWS gives contradictory answers about IAM role "my-role". Usually a recent change has not reached all parts of AWS yet, which takes up to two minutes',
  },
  ProfileNotOwned: { name: 'default_web', whose: 'AWSFargateProfile other/web' },
  SpecDiffers: {
    name: 'default_web',
    fields: ['subnets are subnet-1 in AWS, but subnet-2 in the spec'],
    isSpecFixed: true,
  },
  WaitingForSibling: { ahead: 'default_api', doing: 'being created', isUnverified: false },
  ClusterUpdating: {
    cluster: 'default_my-control-plane',
    said: 'Cannot Delete Fargate Profile default_web because cluster default_my-control-plane currently has an update in progress (EKS DeleteFargateProfile: ResourceInUseException)',
    remaining: 15_000,
  },
  QuotaExceeded: {
    detail: 'Fargate Profile limit exceeded for cluster. (EKS CreateFargateProfile: ResourceLimitExceededException)',
  },
  Creating: { name: 'default_web' },
  Replacing: { name: '9999-default_web', predecessor: 'default_web' },
  PredecessorKept: {
    name: '9999-default_web',
    predecessor: 'default_web',
    taker: '9999-default_web',
    until: 1_795_687_200_000,
    remaining: 30_000,
  },
  Draining: {
    name: '9999-default_web',
    predecessor: 'default_web',
    since: 1_893_499_200_000,
    until: 1_893_499_800_000,
    remaining: 600_000,
    counts: { total: 12, left: 3 },
    refused: {
      pod: 'shop/web-7d9c-4xk2p',
      others: 1,
      said: "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 2 healthy pods and has 2 currently",
    },
  },
  RemovingPredecessor: { name: '9999-default_web', predecessor: 'default_web' },
  DeletingProfile: { name: 'default_web', successor: 'default_web' },
  WaitingForCreate: { name: 'default_web' },
  CreateFailed: { name: 'default_web', issues: [ISSUE] },
  DeleteFailed: { name: 'default_web', issues: [ISSUE] },
  UnknownProfileStatus: { name: 'default_web', status: 'HIBERNATING' },
};
