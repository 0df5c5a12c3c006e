import type { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { NewFargateProfile, NewRole } from '../../../pkg/cloud/types.ts';
import type { Tags } from '../../../pkg/fargate/tags.ts';

/** One call that changes AWS. */
export type Mutation =
  | { readonly kind: 'createProfile'; readonly profile: NewFargateProfile }
  | {
      readonly kind: 'deleteProfile';
      readonly name: ProfileName;
      readonly because: 'unwanted' | 'failed' | 'different';
    }
  | { readonly kind: 'tagProfile'; readonly name: ProfileName; readonly arn: string; readonly tags: Tags }
  | {
      readonly kind: 'untagProfile';
      readonly name: ProfileName;
      readonly arn: string;
      readonly keys: readonly string[];
    }
  | { readonly kind: 'createRole'; readonly role: NewRole }
  | { readonly kind: 'deleteRole'; readonly name: RoleName }
  | { readonly kind: 'setTrust'; readonly name: RoleName; readonly trust: string }
  | { readonly kind: 'setBoundary'; readonly name: RoleName; readonly policyArn: string }
  | { readonly kind: 'removeBoundary'; readonly name: RoleName }
  | { readonly kind: 'attachPolicy'; readonly name: RoleName; readonly policyArn: string }
  /** `retiring`: whether the role is deleted next, so that nothing else may use it. */
  | {
      readonly kind: 'detachPolicy';
      readonly name: RoleName;
      readonly policyArn: string;
      readonly retiring: boolean;
    }
  /**
   * `retiring`: the controller deletes the role next. The role gets the tags of this controller before, because the
   * documented IAM policy lets the controller delete only roles with these tags.
   */
  | { readonly kind: 'tagRole'; readonly name: RoleName; readonly tags: Tags; readonly retiring?: true }
  | { readonly kind: 'untagRole'; readonly name: RoleName; readonly keys: readonly string[] }
  /** `principal`: the ARN of the role `name`. */
  | { readonly kind: 'createAccessEntry'; readonly name: RoleName; readonly principal: RoleArn }
  /**
   * `because`: why the access entry is deleted.
   *
   * - `roleDeletion`: the controller deletes the role next.
   * - `profileCreation`: the entry belongs to an earlier role with the same ARN, and the controller creates a profile
   *   next.
   * - `roleRecreated`: the entry belongs to an earlier role with the same ARN, and a live profile uses the present
   *   role.
   */
  | {
      readonly kind: 'deleteAccessEntry';
      readonly name: RoleName;
      readonly principal: RoleArn;
      readonly because: 'roleDeletion' | 'profileCreation' | 'roleRecreated';
    };

/** The name of the profile or role that a mutation changes. */
export function subjectOf(mutation: Mutation): ProfileName | RoleName {
  switch (mutation.kind) {
    case 'createProfile':
      return mutation.profile.name;
    case 'createRole':
      return mutation.role.name;
    default:
      return mutation.name;
  }
}

/**
 * Whether the mutation needs a turn in the queue of profile changes of the EKS cluster: EKS creates or deletes one
 * profile of a cluster at a time.
 */
export function isQueuedMutation(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'createProfile' | 'deleteProfile' }> {
  return mutation.kind === 'createProfile' || mutation.kind === 'deleteProfile';
}

/** Whether the mutation changes an access entry of the EKS cluster. AWS may refuse that: the permission is optional. */
export function isAccessEntryMutation(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'createAccessEntry' | 'deleteAccessEntry' }> {
  return mutation.kind === 'createAccessEntry' || mutation.kind === 'deleteAccessEntry';
}

/** Whether the mutation deletes a role, or changes a role or its access entry before the role is deleted. */
export function isRoleRemoval(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'deleteRole' | 'detachPolicy' | 'tagRole' | 'deleteAccessEntry' }> {
  return (
    mutation.kind === 'deleteRole' ||
    ((mutation.kind === 'detachPolicy' || mutation.kind === 'tagRole') && mutation.retiring === true) ||
    (mutation.kind === 'deleteAccessEntry' && mutation.because === 'roleDeletion')
  );
}

/** Whether the mutation deletes a resource, or detaches a policy from a role that is deleted next. */
export function isDestructive(mutation: Mutation): boolean {
  return mutation.kind === 'deleteProfile' || mutation.kind === 'deleteAccessEntry' || isRoleRemoval(mutation);
}
