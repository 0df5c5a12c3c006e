import {
  describeFailure,
  isAccessDenied,
  isClusterNotActive,
  isClusterNotFound,
  isCredentialsInvalid,
  isInvalidRequest,
  isNotDispatched,
  isNotFound,
  isQuotaExceeded,
  isThrottled,
  isUnavailable,
} from '../../pkg/cloud/errors.ts';
import type { AwsFailure } from '../../pkg/cloud/failure.ts';
import type { CredentialsProblem } from '../../pkg/cloud/types.ts';
import type { Part, Why } from './reasons.ts';
import { why } from './reasons.ts';

const PART_OF: Readonly<Record<AwsFailure['service'], Part>> = {
  eks: 'EKSFargateProfileReady',
  iam: 'IAMFargateRolesReady',
  sts: 'CredentialsReady',
};

type EksCluster = { readonly name: string; readonly region: string };

/** What it means for the object that there is no session; `undefined`: nothing, the pass was interrupted. */
export function whyOfCredentials(
  { reason, message, failure }: CredentialsProblem,
  cluster: EksCluster,
): Why | undefined {
  switch (reason) {
    case 'Interrupted':
      return undefined;
    case 'AccountUnknown':
    case 'AssumeRoleFailed':
      return failure === undefined ? why('CredentialsMissing', { words: message }) : whyOfFailure(failure, cluster);
    default:
      return why(reason, { words: message });
  }
}

/** What a call that failed means for the object, in a user's words. */
export function whyOfFailure(failure: AwsFailure, cluster: EksCluster): Why {
  const words = describeFailure(failure);
  const said = { words, about: PART_OF[failure.service] };
  if (isCredentialsInvalid(failure))
    return why('CredentialsInvalid', { words: `AWS rejects the credentials: ${words}` });
  if (isThrottled(failure) || isUnavailable(failure) || isNotDispatched(failure)) return why('AWSUnavailable', said);
  if (isAccessDenied(failure)) return why('AccessDenied', said);
  if (isClusterNotFound(failure)) return why('EKSClusterNotFound', { cluster: cluster.name, region: cluster.region });
  if (isClusterNotActive(failure)) return why('WaitingForEKSControlPlane', { words });
  if (isQuotaExceeded(failure))
    return failure.service === 'eks' ? why('QuotaExceeded', { words }) : why('AWSQuotaExceeded', said);
  // A policy that is named and is not there: IAM has no code of its own for it.
  if (failure.service === 'iam' && isNotFound(failure)) return why('Refused', said);
  return isInvalidRequest(failure) ? why('Refused', said) : why('AWSError', said);
}
