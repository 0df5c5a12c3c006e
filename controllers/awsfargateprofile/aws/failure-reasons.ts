import { DeadlineExceeded } from 'controller-runtime/async';
import * as aws from '../../../pkg/cloud/index.ts';
import type { Target } from '../goal/target.ts';
import type { Unavailability } from '../reasons/aws-errors.ts';
import type { Abandonment, SubnetSource } from '../reasons/wording.ts';
import { type AffectedConditionType, type Reason, inconsistentAnswers, newReason } from '../reasons/reasons.ts';

/** The condition that reports a failed call, by AWS service. For EKS, this is EKSFargateProfileReady. */
const CONDITION_TYPE_OF: Readonly<Partial<Record<aws.AwsService, AffectedConditionType>>> = {
  iam: 'IAMFargateRolesReady',
  sts: 'CredentialsReady',
};

export interface CallContext {
  readonly target: Target;
  /** `undefined` before a session is open. */
  readonly session?: Pick<aws.Session, 'account'>;
  /** How a user can end the deletion while the controller has no credentials. */
  readonly abandonment?: Abandonment | undefined;
  readonly subnets?: SubnetSource | undefined;
  readonly isBoundaryFromLimits?: boolean;
  readonly isProfileGone?: boolean;
  /** Set only for a call that changes something in AWS. */
  readonly isSpecFixed?: boolean | undefined;
  /** A spec field with a value that AWS cannot accept, and the right form. Set only if the call sent the value. */
  readonly violation?: string | undefined;
  /** The existing resource that the call changes, such as `Fargate profile "a"`. */
  readonly resource?: string | undefined;
}

/** Whether the EKS cluster comes from spec.eksCluster instead of from a control plane. */
const isTargetOfObject = ({ clusterName }: Target): boolean => clusterName === undefined;

/** Returns why the object has no AWS session. While the manager stops, users do not see this reason. */
export function reasonForCredentials(
  { reason, message, failure, whose, missing = '', obstacle }: aws.CredentialsProblem,
  context: CallContext,
): Reason {
  const { target, abandonment } = context;
  const isOfObject = isTargetOfObject(target);
  const said = failure && { said: aws.describeFailure(failure) };
  switch (reason) {
    case 'Interrupted':
      return newReason('NotNow', { because: message });
    case 'AccountUnknown':
    case 'AssumeRoleFailed':
      return failure === undefined
        ? newReason('CredentialsMissing', { detail: message, abandonment, isOfObject })
        : reasonForFailure(failure, context);
    case 'RegionInvalid':
      return newReason('RegionInvalid', { region: target.region, abandonment, isOfObject });
    case 'CredentialsInvalid':
      return newReason(reason, { detail: message, whose, abandonment, ...said });
    case 'IdentityUnreadable':
      return newReason(reason, { detail: message, ...(obstacle && { obstacle }) });
    case 'IdentityNotFound':
    case 'SecretNotFound':
      return newReason(reason, { detail: message, missing, abandonment });
    case 'AssumeRoleDenied':
      return newReason(reason, {
        detail: message,
        denial: aws.readDenial(failure?.message ?? ''),
        abandonment,
        ...said,
      });
    default:
      return newReason(reason, { detail: message, abandonment, isOfObject, ...said });
  }
}

/**
 * If the manager itself prevented the call, because it stops, its lease may have expired, or its credentials are gone,
 * returns a reason that users do not see. If the credentials stay missing, the next reconcile reports that. A call that
 * the rate limiter held back for too long is reported immediately.
 */
export function reasonForFailure(failure: aws.AwsFailure, context: CallContext): Reason {
  const { target, abandonment } = context;
  const { region, eksCluster: cluster } = target;
  const account = context.session?.account;
  const isOfObject = isTargetOfObject(target);
  const detail = aws.describeFailure(failure);
  const said = {
    detail,
    about: CONDITION_TYPE_OF[failure.service] ?? 'EKSFargateProfileReady',
    ...(context.isProfileGone === true && { isProfileGone: true }),
  } as const;
  if (aws.isNotDispatched(failure) && !isLate(failure)) return newReason('NotNow', { because: failure.message });
  if (aws.isCredentialsInvalid(failure)) {
    const whose = aws.credentialsName(target.identity);
    return newReason('CredentialsInvalid', {
      detail: `AWS rejects ${aws.describeCredentials(whose)}`,
      said: detail,
      whose,
      abandonment,
    });
  }
  if (failure.acceptedIn !== undefined && aws.isRegionNotEnabled(failure)) {
    const { acceptedIn } = failure;
    const facts = { detail, region, acceptedIn, abandonment, isOfObject };
    return newReason('RegionNotEnabled', { ...facts, ...(account && { account }) });
  }
  if (aws.isNotPrepared(failure) && !isLate(failure))
    return newReason('SDKRefused', { ...said, region, abandonment, isOfObject });
  const why = unavailabilityOf(failure);
  if (why !== undefined) return newReason('AWSUnavailable', { ...said, why });
  if (aws.isAccessDenied(failure))
    return newReason('AccessDenied', {
      ...said,
      denial: aws.readDenial(failure.message),
      called: `${failure.service}:${failure.operation}`,
      region,
      account,
      isSpecFixed: context.isSpecFixed ?? false,
      abandonment,
    });
  if (aws.isClusterNotFound(failure))
    return newReason('EKSClusterNotFound', { cluster, region, ...(account && { account }), isOfObject });
  if (aws.isQuotaExceeded(failure))
    return failure.service === 'eks'
      ? newReason('QuotaExceeded', { detail })
      : newReason('AWSQuotaExceeded', { ...said, operation: failure.operation });
  // IAM has returned the role in this reconcile or an earlier one, so IAM contradicts itself.
  if (aws.isRoleNotVisible(failure)) return inconsistentAnswers(`IAM role "${roleIn(failure)}"`);
  // IAM also answers "not found" if a policy ARN in the spec does not exist, which only a user can fix.
  const isPolicyMissing = failure.service === 'iam' && aws.isNotFound(failure);
  const { subnets, isBoundaryFromLimits, violation, resource } = context;
  return isPolicyMissing || aws.isInvalidRequest(failure)
    ? newReason('Refused', {
        ...said,
        ...(subnets && { subnets }),
        ...(isBoundaryFromLimits && { isBoundaryFromLimits }),
        violation,
        abandonment,
      })
    : newReason('AWSError', {
        ...said,
        ...(aws.isNotFound(failure) && resource !== undefined && { missing: resource }),
      });
}

function unavailabilityOf(failure: aws.AwsFailure): Unavailability | undefined {
  if (aws.isThrottled(failure)) return 'throttled';
  if (aws.isNotDispatched(failure)) return 'queued';
  if (aws.isSignatureTimeRejected(failure)) return 'signatureTime';
  if (!aws.isUnavailable(failure) && !isLate(failure)) return undefined;
  if (failure.code === 'NoAnswer') return 'noAnswer';
  // An `Undecodable` response may be a proxy's error page, so its status code may not come from the AWS service.
  return failure.statusCode === undefined || failure.code === 'Undecodable' ? 'undecodable' : 'serviceError';
}

/** True if the deadline passed: in the rate limiter, while the request was signed, or before AWS answered. */
const isLate = ({ cause }: aws.AwsFailure): boolean => cause instanceof DeadlineExceeded;

const roleIn = ({ message }: aws.AwsFailure): string =>
  /role with name (.+?) cannot be found/i.exec(message)?.[1] ?? '';
