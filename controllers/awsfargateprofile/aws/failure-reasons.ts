import {
  describeFailure,
  isAccessDenied,
  isClusterNotFound,
  isCredentialsInvalid,
  isInvalidRequest,
  isNotDispatched,
  isNotFound,
  isNotPrepared,
  isQuotaExceeded,
  isRegionNotEnabled,
  isRoleNotVisible,
  isSignatureTimeRejected,
  isThrottled,
  isUnavailable,
  readDenial,
  credentialsName,
} from '../../../pkg/cloud/index.ts';
import { DeadlineExceeded } from '../../../pkg/async/deadline.ts';
import type { AwsFailure, Session, IdentityRef, CredentialsProblem } from '../../../pkg/cloud/index.ts';
import type { Target } from '../model/goal-kinds.ts';
import type { Abandonment } from '../reasons/wording/abandonment.ts';
import type { SubnetSource } from '../reasons/wording/subnet-correction.ts';
import { type AffectedConditionType, type Reason, inconsistentAnswers, newReason } from '../reasons/reasons.ts';

const CONDITION_TYPE_OF: Readonly<Record<AwsFailure['service'], AffectedConditionType>> = {
  eks: 'EKSFargateProfileReady',
  iam: 'IAMFargateRolesReady',
  sts: 'CredentialsReady',
};

/** The credentials with which AWS was called, and the EKS cluster that the call was about. Messages name both. */
export interface CallContext {
  readonly eksCluster: string;
  readonly region: string;
  /** Whether the AWSFargateProfile gets its EKS cluster from spec.eksCluster instead of from a control plane. */
  readonly isOfObject?: boolean;
  /** The source of the subnets of the Fargate profile that the call was about, for example the spec. */
  readonly subnets?: SubnetSource | undefined;
  /** Whether the object was provisioned, if the call was a change in AWS. */
  readonly isProvisioned?: boolean | undefined;
  /** A field of the spec with a value that AWS cannot accept, and the right form, if the call sent the value. */
  readonly violation?: string | undefined;
  /** The existing resource that the call changes, such as `Fargate profile "a"`. */
  readonly resource?: string | undefined;
  /** The AWS account of the credentials; undefined while it is not known. */
  readonly account?: string;
  /**
   * The reference to the identity object of Cluster API Provider AWS, for example an AWSClusterRoleIdentity, whose
   * credentials were used. `undefined` stands for the manager's own credentials.
   */
  readonly identity: IdentityRef | undefined;
  /** How a user can end the deletion of the AWSFargateProfile while the controller has no credentials for AWS. */
  readonly abandonment?: Abandonment | undefined;
}

export const callContext = (
  { clusterName, eksCluster, region, identity }: Target,
  {
    session,
    abandonment,
    subnets,
    isProvisioned,
    resource,
    violation,
  }: { readonly session?: Pick<Session, 'account'> } & Pick<
    CallContext,
    'abandonment' | 'subnets' | 'isProvisioned' | 'resource' | 'violation'
  > = {},
): CallContext => ({
  eksCluster,
  region,
  isOfObject: clusterName === undefined,
  identity,
  ...(session && { account: session.account }),
  abandonment,
  subnets,
  isProvisioned,
  resource,
  violation,
});

/** Returns the reason to stop if the controller gets no credentials for AWS; silent while the manager stops. */
export function reasonForCredentials(
  { reason, message, failure, whose, missing = '' }: CredentialsProblem,
  context: CallContext,
): Reason {
  const { abandonment, isOfObject = false } = context;
  switch (reason) {
    case 'Interrupted':
      return newReason('NotNow', { because: message });
    case 'AccountUnknown':
    case 'AssumeRoleFailed':
      return failure === undefined
        ? newReason('CredentialsMissing', { detail: message, abandonment, isOfObject })
        : reasonForFailure(failure, context);
    case 'RegionInvalid':
      return newReason('RegionInvalid', { region: context.region, abandonment, isOfObject });
    case 'CredentialsInvalid':
      return newReason(reason, { detail: message, whose, abandonment });
    case 'IdentityNotFound':
    case 'SecretNotFound':
      return newReason(reason, { detail: message, missing, abandonment });
    case 'AssumeRoleDenied':
      return newReason(reason, { detail: message, denial: readDenial(failure?.message ?? ''), abandonment });
    default:
      return newReason(reason, { detail: message, abandonment, isOfObject });
  }
}

/**
 * Returns the reason to stop after a failed call to AWS. It is silent if the manager itself prevented the call, because
 * it stops, because its leader lease may have expired, or because it has no credentials any more: the next pass reports
 * that. If the rate limiter held a call back for too long, the reason tells, because the next calls may wait as long.
 */
export function reasonForFailure(failure: AwsFailure, context: CallContext): Reason {
  const {
    eksCluster,
    region,
    account,
    identity,
    abandonment,
    subnets,
    isOfObject = false,
    isProvisioned = false,
    resource,
    violation,
  } = context;
  const detail = describeFailure(failure);
  const said = { detail, about: CONDITION_TYPE_OF[failure.service] };
  if (isNotDispatched(failure) && !isLate(failure)) return newReason('NotNow', { because: failure.message });
  if (isCredentialsInvalid(failure)) {
    const whose = credentialsName(identity);
    const message = `AWS rejects the credentials of ${whose}. AWS says: ${detail}`;
    return newReason('CredentialsInvalid', { detail: message, whose, abandonment });
  }
  if (failure.acceptedIn !== undefined && isRegionNotEnabled(failure)) {
    const { acceptedIn } = failure;
    const facts = { detail, region, acceptedIn, abandonment, isOfObject };
    return newReason('RegionNotEnabled', { ...facts, ...(account && { account }) });
  }
  if (isNotPrepared(failure) && !isLate(failure))
    return newReason('SDKRefused', { ...said, region, abandonment, isOfObject });
  if (isThrottled(failure))
    return newReason('AWSUnavailable', {
      ...said,
      detail: `AWS throttles the requests of the controller. AWS says: ${detail}`,
      why: 'throttled',
    });
  if (isNotDispatched(failure))
    return newReason('AWSUnavailable', {
      ...said,
      detail: `AWS throttles the requests of the controller, or the controller has too many requests for this AWS account. A request has waited too long for ${detail}`,
      why: 'throttled',
    });
  if (isSignatureTimeRejected(failure))
    return newReason('AWSUnavailable', {
      ...said,
      detail: `AWS rejects the time in the signature of a request of the controller. AWS says: ${detail}`,
      why: 'signatureTime',
    });
  if (isUnavailable(failure) || isLate(failure))
    return newReason('AWSUnavailable', {
      ...said,
      detail: `AWS gives no usable answer to a request of the controller: ${detail}`,
      // The page of a proxy is `Undecodable`.
      ...(failure.statusCode !== undefined && failure.code !== 'Undecodable' && { why: 'serviceError' }),
    });
  if (isAccessDenied(failure))
    return newReason('AccessDenied', {
      ...said,
      denial: readDenial(failure.message),
      called: `${failure.service}:${failure.operation}`,
      region,
      account,
      isProvisioned,
    });
  if (isClusterNotFound(failure))
    return newReason('EKSClusterNotFound', { cluster: eksCluster, region, ...(account && { account }), isOfObject });
  if (isQuotaExceeded(failure))
    return failure.service === 'eks' ? newReason('QuotaExceeded', { detail }) : newReason('AWSQuotaExceeded', said);
  // The controller needs the policies and instance profiles of a role only if IAM returns the role. If IAM does not
  // find the role for them, IAM contradicts itself, and the controller tries again.
  if (isRoleNotVisible(failure)) return inconsistentAnswers(`IAM role "${roleIn(failure)}"`);
  // IAM also answers "not found" if a policy ARN in the spec does not exist, because IAM has no separate error code for
  // this case. So the controller reports that AWS refuses the spec.
  if (failure.service === 'iam' && isNotFound(failure)) return newReason('Refused', said);
  return isInvalidRequest(failure)
    ? newReason('Refused', { ...said, ...(subnets && { subnets }), violation })
    : newReason('AWSError', { ...said, ...(isNotFound(failure) && resource !== undefined && { missing: resource }) });
}

/**
 * Whether the deadline of a request passed: while the request waited in the rate limiter, while it was signed, or while
 * the manager waited for the answer of AWS.
 */
const isLate = ({ cause }: AwsFailure): boolean => cause instanceof DeadlineExceeded;

const roleIn = ({ message }: AwsFailure): string => /role with name (.+?) cannot be found/i.exec(message)?.[1] ?? '';
