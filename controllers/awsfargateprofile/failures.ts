import {
  describeFailure,
  isAccessDenied,
  isClusterNotFound,
  isCredentialsInvalid,
  isInvalidRequest,
  isNotDispatched,
  isNotFound,
  isQuotaExceeded,
  isRoleNotVisible,
  isThrottled,
  isUnavailable,
} from '../../pkg/cloud/errors.ts';
import type { AwsFailure } from '../../pkg/cloud/failure.ts';
import { credentialsName } from '../../pkg/cloud/credentials-name.ts';
import type { CredentialsProblem, IdentityRef, Session } from '../../pkg/cloud/types.ts';
import type { Target } from './model.ts';
import type { Part, Why } from './reasons.ts';
import { contradiction, why } from './reasons.ts';

const PART_OF: Readonly<Record<AwsFailure['service'], Part>> = {
  eks: 'EKSFargateProfileReady',
  iam: 'IAMFargateRolesReady',
  sts: 'CredentialsReady',
};

/** Who asked AWS, and about which cluster. */
export interface Asker {
  readonly cluster: string;
  readonly region: string;
  /** Absent: not known yet. */
  readonly account?: string;
  /** Absent: the manager itself. */
  readonly identity: IdentityRef | undefined;
}

export const askerOf = ({ eksCluster, region, identity }: Target, session?: Pick<Session, 'account'>): Asker => ({
  cluster: eksCluster,
  region,
  identity,
  ...(session && { account: session.account }),
});

/**
 * What it means for the object that there is no session; `undefined`: nothing, the pass was interrupted. `releasable`: it is
 * being deleted, and would go without a session were it to be retained.
 */
export function whyOfCredentials(
  { reason, message, failure }: CredentialsProblem,
  asker: Asker,
  releasable = false,
): Why | undefined {
  switch (reason) {
    case 'Interrupted':
      return undefined;
    case 'AccountUnknown':
    case 'AssumeRoleFailed':
      return failure === undefined
        ? why('CredentialsMissing', { words: message, releasable })
        : whyOfFailure(failure, asker);
    default:
      return why(reason, { words: message, releasable });
  }
}

/** What a call that failed means for the object, in a user's words. */
export function whyOfFailure(failure: AwsFailure, { cluster, region, account, identity }: Asker): Why {
  const words = describeFailure(failure);
  const said = { words, about: PART_OF[failure.service] };
  if (isCredentialsInvalid(failure))
    return why('CredentialsInvalid', {
      words: `AWS rejects the credentials of ${credentialsName(identity)}: ${words}`,
    });
  if (isThrottled(failure))
    return why('AWSUnavailable', { ...said, words: `AWS throttles the requests: ${words}`, isThrottled: true });
  if (isUnavailable(failure) || isNotDispatched(failure))
    return why('AWSUnavailable', { ...said, words: `AWS gives no usable answer: ${words}` });
  if (isAccessDenied(failure)) return why('AccessDenied', said);
  if (isClusterNotFound(failure)) return why('EKSClusterNotFound', { cluster, region, ...(account && { account }) });
  if (isQuotaExceeded(failure))
    return failure.service === 'eks' ? why('QuotaExceeded', { words }) : why('AWSQuotaExceeded', said);
  // What is on a role is asked of roles alone that another part of IAM has just shown.
  if (isRoleNotVisible(failure)) return contradiction(roleIn(failure));
  // A policy that is named and is not there: IAM has no code of its own for it.
  if (failure.service === 'iam' && isNotFound(failure)) return why('Refused', said);
  return isInvalidRequest(failure) ? why('Refused', said) : why('AWSError', said);
}

const roleIn = ({ message }: AwsFailure): string => /role with name (.+?) cannot be found/i.exec(message)?.[1] ?? '';
