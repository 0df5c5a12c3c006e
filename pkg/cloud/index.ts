/** The exports of pkg/cloud for other packages. README.md shows how the parts are put together. */
export type { Call } from './call/call.ts';
export { newRateLimiter } from './call/rate-limiter.ts';
export type { Sender } from './call/signed-request.ts';
export { newAssumedRoleSource, type AssumedRoleConfig } from './credentials/assumed-role-credentials.ts';
export { CallerAccounts } from './credentials/caller-identity.ts';
export {
  CredentialPool,
  retentionOf,
  type AwsCredentialSource,
  type AwsCredentialSources,
  type AwsCredentials,
} from './credentials/credential-pool.ts';
export {
  MANAGER_ITSELF,
  credentialsName,
  describeCredentials,
  type IdentityField,
  type IdentityRef,
} from './credentials/identity-ref.ts';
export type { CredentialsProblem, CredentialsProblemReason } from './credentials/credentials-problem.ts';
export { newManagerCredentialSource } from './credentials/manager-credentials.ts';
export { podIdentityUri } from './credentials/pod-identity.ts';
export { readFreeAddresses } from './ec2/free-addresses.ts';
export type {
  AccessEntry,
  AccessEntryLookup,
  EksCluster,
  FargateProfile,
  FargateProfiles,
  FargateSelector,
  NewFargateProfile,
  ProfileListing,
  ProfileLookup,
} from './eks/eks-api.ts';
export { parseServiceEndpoints, resolveEndpoints, type Endpoints, type ServiceEndpoint } from './endpoints.ts';
export { readDenial, type Denial, type PolicyKind } from './errors/denial.ts';
export * from './errors/error-codes.ts';
export type { AwsFailure, AwsService } from './errors/failure.ts';
export { NoCredentials, toAwsFailure } from './errors/sdk-failure.ts';
export type { NewRole, PodExecutionRoles, Role } from './iam/iam-api.ts';
export { awsMetrics, type AwsMetrics } from './metrics.ts';
export { newSessions } from './open-session.ts';
export { partitionOf } from './partition.ts';
export { readQuota, readVCpuUsage, type QuotaId } from './service-quotas/quota-and-usage.ts';
export { newClients, type Clients } from './call/sdk-clients.ts';
export { type AwsConfig, type Session, type SessionRequest, type Sessions } from './session.ts';
export { DEFAULT_DURATION_SECONDS, defaultSessionName } from './sts/sts-api.ts';
export type { AwsTransport } from './transport/transport.ts';
export { withDispatchOptions } from './transport/sdk-handler.ts';
export { connectToAws } from './transport/connect-to-aws.ts';
