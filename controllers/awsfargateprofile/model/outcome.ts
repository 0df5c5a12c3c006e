import type { ProfileName } from '../../../api/names.ts';
import { isNotDispatched, isNotPrepared } from '../../../pkg/cloud/index.ts';
import type { AwsFailure, Role, AccessEntry, FargateProfile } from '../../../pkg/cloud/index.ts';
import type { Drained } from './drained.ts';
import type { Mutation } from './mutation.ts';

export type MutationOutcome =
  | {
      readonly kind: 'done';
      readonly profile?: FargateProfile;
      readonly role?: Role;
      readonly accessEntry?: AccessEntry;
    }
  | { readonly kind: 'gone' }
  /** The name to create is in use, although this pass did not find it: EKS and IAM are eventually consistent. */
  | { readonly kind: 'nameTaken' }
  /** The role exists, but IAM, or EKS for a new access entry, does not show it yet. */
  | { readonly kind: 'notVisible' }
  /** The role has changed since this pass read it. */
  | { readonly kind: 'outdated'; readonly failure: AwsFailure }
  | { readonly kind: 'clusterGone' }
  /** EKS is making another change in the cluster, to the profile `by`. */
  | { readonly kind: 'siblingBusy'; readonly by: ProfileName; readonly doing: string }
  /** An update of the cluster is in progress, or it is not ACTIVE. */
  | { readonly kind: 'clusterUpdating'; readonly failure: AwsFailure }
  /** The trust policy of the role is wrong, or the role is too new and EKS does not see it yet. */
  | { readonly kind: 'roleRejected'; readonly failure: AwsFailure }
  | { readonly kind: 'failed'; readonly failure: AwsFailure };

/** After a lost answer or a 5xx response, AWS may have made the change. */
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

export interface Step {
  readonly mutation: Mutation;
  readonly outcome: MutationOutcome;
  /** The drain of the profile that the mutation deletes. */
  readonly drained?: Drained;
}
