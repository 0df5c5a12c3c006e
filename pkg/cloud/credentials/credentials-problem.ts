import type { ReadObstacle } from 'controller-runtime/cache';
import { describeFailure } from '../errors/error-codes.ts';
import type { AwsFailure } from '../errors/failure.ts';
import { describeCredentials } from './identity-ref.ts';

/** Why an AWS session cannot be opened. */
export type CredentialsProblemReason =
  | 'CredentialsMissing'
  /** AWS rejects the credentials: they are wrong, deleted, or expired. */
  | 'CredentialsInvalid'
  /** The credentials' account could not be looked up (see `failure`), or has changed during the reconcile. */
  | 'AccountUnknown'
  /** The requested region cannot be the name of an AWS region. */
  | 'RegionInvalid'
  /** The request's signal aborted before the session was opened. The credentials may be fine. */
  | 'Interrupted'
  /** The manager cannot currently read an identity, its Secret, or the labels of a namespace from the API server. */
  | 'IdentityUnreadable'
  | 'IdentityNotFound'
  /** The `allowedNamespaces` of an identity in the chain exclude the object's namespace. */
  | 'IdentityNotAllowed'
  | 'IdentityLoop'
  /** The identity object (AWSCluster…Identity) has invalid fields, or a reference has an impossible kind or name. */
  | 'IdentityInvalid'
  | 'SecretNotFound'
  | 'SecretIncomplete'
  /** The role is missing, does not trust the credentials, or these lack sts:AssumeRole: AWS uses one error for all. */
  | 'AssumeRoleDenied'
  /** AWS rejects a parameter of AssumeRole that comes from the identity, such as its session policy. */
  | 'AssumeRoleRefused'
  /** STS AssumeRole failed or STS did not respond; see `failure`. */
  | 'AssumeRoleFailed';

/** `message` ends without a period, and never contains a secret. */
export interface CredentialsProblem {
  readonly reason: CredentialsProblemReason;
  /** Does not repeat `failure`. */
  readonly message: string;
  readonly failure?: AwsFailure;
  /** The owner of the rejected credentials, for messages. Set with the reason `CredentialsInvalid`. */
  readonly whose?: string;
  /** Kind and name of the object that does not exist; set with `IdentityNotFound` and `SecretNotFound`. */
  readonly missing?: string;
  /** What a user has to change before the object can be read; only with `IdentityUnreadable`. */
  readonly obstacle?: ReadObstacle;
}

/** `isCredentialsInvalid` must be true for `failure`. */
export const rejectedCredentials = (failure: AwsFailure, whose: string): CredentialsProblem => ({
  reason: 'CredentialsInvalid',
  message: `AWS rejects ${describeCredentials(whose)}`,
  failure,
  whose,
});

export const describeCredentialsProblem = ({ message, failure }: CredentialsProblem): string =>
  failure === undefined ? message : `${message}: ${describeFailure(failure)}`;
