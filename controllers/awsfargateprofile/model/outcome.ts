import type { ProfileName } from '../../../api/names.ts';
import { isNotDispatched, isNotPrepared } from '../../../pkg/cloud/index.ts';
import type { AwsFailure, Role, AccessEntry, FargateProfile } from '../../../pkg/cloud/index.ts';
import type { Mutation } from './mutation.ts';

/** The result of a call that changes AWS. */
export type MutationOutcome =
  | {
      readonly kind: 'done';
      readonly profile?: FargateProfile;
      readonly role?: Role;
      readonly accessEntry?: AccessEntry;
    }
  /** The AWS resource to delete does not exist any more. */
  | { readonly kind: 'gone' }
  /**
   * An AWS resource with the name to create exists, although this reconcile did not find it: EKS and IAM are eventually
   * consistent.
   */
  | { readonly kind: 'nameTaken' }
  /**
   * IAM does not find the IAM role to change, or EKS does not find the IAM role of a new access entry. The role exists,
   * but IAM is eventually consistent.
   */
  | { readonly kind: 'notVisible' }
  /** The IAM role has changed since this reconcile read it. */
  | { readonly kind: 'outdated'; readonly failure: AwsFailure }
  | { readonly kind: 'clusterGone' }
  /**
   * EKS is creating or deleting another Fargate profile of the cluster. `by` names that profile, and `doing` is its
   * status.
   */
  | { readonly kind: 'siblingBusy'; readonly by: ProfileName; readonly doing: string }
  /** EKS says that the cluster has an update in progress, or that it is not ACTIVE. */
  | { readonly kind: 'clusterUpdating'; readonly failure: AwsFailure }
  /** EKS rejects the IAM role: its trust policy is wrong, or the role is too new and EKS does not see it yet. */
  | { readonly kind: 'roleRejected'; readonly failure: AwsFailure }
  | { readonly kind: 'failed'; readonly failure: AwsFailure };

/** Whether a call has certainly changed nothing in AWS. That is not certain after a lost answer or a 5xx response. */
export function isWithoutEffect(outcome: MutationOutcome): boolean {
  switch (outcome.kind) {
    case 'siblingBusy':
    case 'clusterUpdating':
    case 'roleRejected':
      return true;
    case 'failed': {
      const { code, statusCode = 0 } = outcome.failure;
      // A 4xx response that is not from AWS does not prove that nothing was changed: a proxy may have forwarded the
      // request before it failed.
      const isRefused = code !== 'Undecodable' && statusCode >= 400 && statusCode < 500;
      return isRefused || isNotDispatched(outcome.failure) || isNotPrepared(outcome.failure);
    }
    default:
      return false;
  }
}

/** A change that a reconcile has sent to AWS, with its outcome. */
export interface Step {
  readonly mutation: Mutation;
  readonly outcome: MutationOutcome;
}
