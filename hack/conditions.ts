import type { Facts, Nature, Reason, Why } from '../controllers/awsfargateprofile/reasons.ts';
import { REASONS, messageOf, natureOf, partOf, why } from '../controllers/awsfargateprofile/reasons.ts';

const ISSUE = {
  code: 'PodExecutionRoleAlreadyInUse',
  message: 'The role is used by a node group',
  resourceIds: ['my-role'],
};
const ROLE = 'my-cluster-default_web_fargate';
const ROLE_ARN = `arn:aws:iam::123456789012:role/${ROLE}`;

/** One example of each reason, so that the document shows what people will read. */
const EXAMPLES: Facts = {
  WaitingForCluster: { cluster: 'default/my-cluster' },
  WaitingForAPI: { kind: 'Cluster', why: 'the API server does not serve clusters.cluster.x-k8s.io' },
  APIServerRefused: {
    words:
      'patching awsfargateprofiles.infrastructure.cluster.x-k8s.io default/web: Internal error occurred: failed calling webhook "…": …',
    cure: 'Bring the service of the webhook "…" back, or remove its entry from the webhook configuration',
  },
  ClusterDeleting: { what: 'Cluster default/my-cluster' },
  WaitingForEKSControlPlane: { words: 'AWSManagedControlPlane default/my-control-plane is not ready yet' },
  GuardRefused: { controlPlane: 'default/my-control-plane', why: 'failed calling webhook "…"' },
  ClusterVanished: { cluster: 'default/my-cluster', remaining: 30_000 },
  RetainBlocksClusterDeletion: { name: 'default_web', cluster: 'default_my-control-plane' },
  ForeignSchema: { provider: 'infrastructure-aws', missing: ['spec.deletionPolicy', 'spec.roleARN', 'status.account'] },
  ControlPlaneUnsupported: { cluster: 'default/my-cluster', kind: 'KubeadmControlPlane' },
  TargetChanged: { field: 'spec.region', recorded: 'eu-west-1', found: 'eu-central-1', saidBy: 'status' },
  TargetUnknown: {
    missing: 'Cluster default/my-cluster is not there',
    provisionedIn: '123456789012/eu-west-1/default_my-control-plane',
  },
  InvalidSpec: { words: 'spec.selectors: Fargate Profile requires at least one selector.' },
  TagsInvalid: { words: 'tag "aws:team" of the control plane: keys that begin with "aws:" are reserved for AWS' },
  NoPrivateSubnets: { controlPlane: 'default/my-control-plane' },
  CredentialsMissing: {
    words:
      'no AWS credentials: looked in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (not set), the shared configuration files (profile default), AWS_WEB_IDENTITY_TOKEN_FILE (not set), the instance metadata service: Could not load credentials from any providers',
  },
  CredentialsInvalid: {
    words:
      'AWS rejects the credentials of the manager itself: The security token included in the request is invalid. (STS GetCallerIdentity: InvalidClientTokenId)',
  },
  IdentityUnreadable: {
    words:
      'spec.identityRef of the control plane names AWSClusterRoleIdentity "team-a", which cannot be read: the API server does not serve awsclusterroleidentities.infrastructure.cluster.x-k8s.io',
  },
  IdentityNotFound: {
    words: 'spec.identityRef of the control plane names AWSClusterStaticIdentity "team-a", which does not exist',
  },
  IdentityNotAllowed: {
    words:
      'AWSClusterStaticIdentity "team-a" may not be used for objects of namespace "default": its spec.allowedNamespaces does not name or select it',
  },
  IdentityLoop: {
    words:
      'the source identities lead in a circle: AWSClusterRoleIdentity "a", then AWSClusterRoleIdentity "b", then AWSClusterRoleIdentity "a"',
  },
  IdentityInvalid: {
    words: 'AWSClusterRoleIdentity "team-a" cannot be understood: spec.roleARN: expected string, got nothing',
  },
  SecretNotFound: { words: 'Secret capaf-system/team-a of AWSClusterStaticIdentity "team-a" does not exist' },
  SecretIncomplete: { words: 'Secret capaf-system/team-a of AWSClusterStaticIdentity "team-a" has no SecretAccessKey' },
  AssumeRoleDenied: {
    words:
      'role arn:aws:iam::210987654321:role/fargate cannot be assumed with the credentials of AWSClusterStaticIdentity "team-a": User: … is not authorized to perform: sts:AssumeRole on resource: … (STS AssumeRole: AccessDenied)',
  },
  AssumeRoleRefused: {
    words:
      'role arn:aws:iam::210987654321:role/fargate cannot be assumed with the credentials of the manager itself: The requested DurationSeconds exceeds the MaxSessionDuration set for this role. (STS AssumeRole: ValidationError)',
  },
  WrongAccount: { whose: 'AWSClusterStaticIdentity "team-a"', recorded: '123456789012', found: '210987654321' },
  AccountUncertain: { cluster: 'default_my-control-plane', region: 'eu-west-1', account: '210987654321' },
  AccessDenied: {
    words:
      'User: arn:aws:sts::123456789012:assumed-role/capaf/x is not authorized to perform: iam:CreateRole on resource: … (IAM CreateRole: AccessDenied)',
    about: 'IAMFargateRolesReady',
  },
  AWSUnavailable: { words: 'AWS gives no usable answer: no answer within 10 s (EKS DescribeFargateProfile)' },
  AWSError: { words: 'The specified resource does not exist. (EKS TagResource: NotFoundException)' },
  Refused: {
    words:
      'Subnet subnet-1 provided in Fargate Profile is not a private subnet (EKS CreateFargateProfile: InvalidParameterException)',
    about: 'EKSFargateProfileReady',
  },
  AWSQuotaExceeded: {
    words: 'Cannot exceed quota for RolesPerAccount: 1000 (IAM CreateRole: LimitExceeded)',
    about: 'IAMFargateRolesReady',
  },
  EKSClusterNotFound: { cluster: 'default_my-control-plane', region: 'eu-west-1', account: '123456789012' },
  RoleNotOwned: { name: ROLE, whose: 'somebody else: no tag names an owner' },
  RoleNotFound: { name: 'my-role' },
  RoleTrustInvalid: { name: 'my-role', problem: 'the trust policy is not a JSON policy document', ours: false },
  RoleSettingsConflict: { name: 'my-role', other: 'AWSFargateProfile default/older', settings: ['rolePath'] },
  RoleRecreated: { name: ROLE, arn: ROLE_ARN, id: 'AROAEXAMPLE', cluster: 'default_my-control-plane' },
  RoleBlocked: { name: ROLE, blockers: ['the inline policy "extra"'] },
  Propagating: {
    words: 'EKS does not see the trust policy of the pod execution role yet: IAM may take two minutes to spread it',
  },
  ProfileNotOwned: { name: 'default_web', whose: 'the AWSFargateProfile other/web' },
  SpecDiffers: { name: 'default_web', fields: ['subnets are subnet-1, wanted subnet-2'] },
  WaitingForSibling: { ahead: 'default_api', doing: 'being created', foreign: false },
  ClusterUpdating: { cluster: 'default_my-control-plane', remaining: 15_000 },
  QuotaExceeded: {
    words: 'Fargate Profile limit exceeded for cluster. (EKS CreateFargateProfile: ResourceLimitExceededException)',
  },
  Creating: { name: 'default_web' },
  DeletingProfile: { name: 'default_web', successor: 'default_web' },
  WaitingForCreate: { name: 'default_web' },
  CreateFailed: { name: 'default_web', issues: [ISSUE] },
  DeleteFailed: { name: 'default_web', issues: [ISSUE] },
  UnknownProfileStatus: { name: 'default_web', status: 'HIBERNATING' },
};

const NATURES: Readonly<Record<Nature, string>> = {
  wait: 'goes on by itself',
  retry: 'is retried',
  outage: 'goes on when it answers',
  human: '**needs you**',
};

const isReason = (text: string): text is Reason => text in REASONS;
const example = <R extends Reason>(reason: R): Why<R> => why(reason, EXAMPLES[reason]);
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('*', '\\*');

const row = (reason: Reason): string => {
  const shown: Why = example(reason);
  return `| \`${reason}\` | ${NATURES[natureOf(shown)]} | ${partOf(shown) ?? ''} | ${cell(messageOf(shown))} |`;
};

/** What the conditions say, as Markdown. */
export const conditionsReference = (): string => `<!-- Generated by make generate; do not edit. -->

# What the conditions say

\`Ready\` sums up. While it is False its reason is one of those below and its message says what is the matter and, where
somebody has to act, what to do. \`CredentialsReady\`, \`IAMFargateRolesReady\` and \`EKSFargateProfileReady\` say which part of the
work it is about. \`Reconciling\` is True while it goes on by itself, \`Stalled\` when it does not: the two are never True
together. \`Deleting\` has the step that a deletion is at. \`Paused\` says who paused.

What EKS does to a profile takes minutes; after half an hour the message says that it takes too long, and who may know why.
What is retried becomes \`Stalled\` after five tries that failed, an \`AWSError\` or
\`APIServerRefused\` after two minutes, and is retried all the same.
While AWS or the API server cannot be asked, a profile that was \`Ready\` stays so for 15 minutes; then it is Unknown, while
\`Reconciling\` stays False: as far as anybody knows, nothing has to be done.

AWS's own words are followed by the call that they answer and AWS's name for the error. Of \`AccessDenied\`, \`Refused\`,
\`AWSError\` and \`AWSUnavailable\` the part is the call's: EKS is asked for the profile, IAM for the role, STS for credentials.

An object that cannot be read at all (a field of a wrong type, which only another CRD can have let in) is \`InvalidObject\`:
nothing is done for it until the field that the message names is mended.

| Reason | It | Part | For example |
|---|---|---|---|
${Object.keys(REASONS).filter(isReason).map(row).join('\n')}
`;
