import type { ProfileName } from '../../../api/names.ts';
import { isNotDispatched, isNotPrepared } from '../../../pkg/cloud/errors/errors.ts';
import type { AwsFailure } from '../../../pkg/cloud/errors/failure.ts';
import type { AccessEntry, FargateProfile, Role } from '../../../pkg/cloud/types.ts';
import type { Mutation } from './mutation.ts';

/** The result of a mutation. */
export type MutationOutcome =
  | {
      readonly kind: 'done';
      readonly profile?: FargateProfile;
      readonly role?: Role;
      readonly accessEntry?: AccessEntry;
    }
  /** The profile or role that the mutation deletes does not exist any more. */
  | { readonly kind: 'gone' }
  /**
   * A profile or role with the name to create exists, although the pass did not find it: EKS and IAM are eventually
   * consistent.
   */
  | { readonly kind: 'nameTaken' }
  /** The role that the mutation changes exists, but IAM does not find it yet: IAM is eventually consistent. */
  | { readonly kind: 'notVisible' }
  /** The role has changed since the pass read it. */
  | { readonly kind: 'outdated'; readonly failure: AwsFailure }
  | { readonly kind: 'clusterGone' }
  /**
   * EKS is creating or deleting another profile of the cluster. `by` names that profile, and `doing` is its `status`.
   */
  | { readonly kind: 'siblingBusy'; readonly by: ProfileName; readonly doing: string }
  /** EKS is updating the cluster, or the cluster is not ACTIVE. */
  | { readonly kind: 'clusterUpdating' }
  /** EKS rejects the role: its trust policy is wrong, or has not spread from IAM to EKS yet. */
  | { readonly kind: 'rolePropagating'; readonly failure: AwsFailure }
  | { readonly kind: 'failed'; readonly failure: AwsFailure };

/**
 * Whether the mutation has certainly changed nothing in AWS. After a lost answer or a 5xx response that is not certain.
 */
export function isWithoutEffect(outcome: MutationOutcome): boolean {
  switch (outcome.kind) {
    case 'siblingBusy':
    case 'clusterUpdating':
    case 'rolePropagating':
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

/** A mutation that a pass has sent, with its outcome. */
export interface Step {
  readonly mutation: Mutation;
  readonly outcome: MutationOutcome;
}
