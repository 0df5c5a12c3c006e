import type { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { NewRole, NewFargateProfile } from '../../../pkg/cloud/index.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';

/** One call that changes AWS, with its values. */
export type Mutation =
  | { readonly kind: 'createProfile'; readonly profile: NewFargateProfile }
  | {
      readonly kind: 'deleteProfile';
      readonly name: ProfileName;
      readonly because: 'unwanted' | 'failed' | 'different' | 'replaced';
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
  /**
   * `retiring` tells whether the controller detaches the policy because it deletes the role next. The controller
   * deletes a role only if no other object or Fargate profile uses the role.
   */
  | {
      readonly kind: 'detachPolicy';
      readonly name: RoleName;
      readonly policyArn: string;
      readonly retiring: boolean;
    }
  /**
   * `retiring` is set if the controller deletes the role next. The controller first sets its tags on the role, because
   * the documented IAM policy lets the controller delete only roles with these tags.
   */
  | { readonly kind: 'tagRole'; readonly name: RoleName; readonly tags: Tags; readonly retiring?: true }
  | { readonly kind: 'untagRole'; readonly name: RoleName; readonly keys: readonly string[] }
  /** `principal` is the ARN of the IAM role `name`. */
  | { readonly kind: 'createAccessEntry'; readonly name: RoleName; readonly principal: RoleArn }
  /**
   * `because` is the reason for the deletion of the EKS access entry.
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

/** Returns the name of the Fargate profile or IAM role that an AWS call changes. */
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

/** Returns the kind and name of the AWS resource that a call changes, as messages name it. */
export function resourceOf(mutation: Mutation): string {
  if (isAccessEntryMutation(mutation)) return `the access entry of ${mutation.principal}`;
  const isOfProfile = isQueuedMutation(mutation) || mutation.kind === 'tagProfile' || mutation.kind === 'untagProfile';
  return `${isOfProfile ? 'Fargate profile' : 'IAM role'} "${subjectOf(mutation)}"`;
}

/**
 * Whether the call creates or deletes a Fargate profile, and so has to wait in the queue of its EKS cluster: EKS
 * creates or deletes one profile of a cluster at a time.
 */
export function isQueuedMutation(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'createProfile' | 'deleteProfile' }> {
  return mutation.kind === 'createProfile' || mutation.kind === 'deleteProfile';
}

/** Whether the call creates the resource that it names. */
export const isCreation = ({ kind }: Mutation): boolean =>
  kind === 'createProfile' || kind === 'createRole' || kind === 'createAccessEntry';

/**
 * Whether the call changes an EKS access entry. AWS may refuse this call, because the controller's permission for it is
 * optional.
 */
export function isAccessEntryMutation(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'createAccessEntry' | 'deleteAccessEntry' }> {
  return mutation.kind === 'createAccessEntry' || mutation.kind === 'deleteAccessEntry';
}

/** Whether the call deletes an IAM role, or changes a role or its access entry before the role is deleted. */
export function isRoleRemoval(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'deleteRole' | 'detachPolicy' | 'tagRole' | 'deleteAccessEntry' }> {
  return (
    mutation.kind === 'deleteRole' ||
    ((mutation.kind === 'detachPolicy' || mutation.kind === 'tagRole') && mutation.retiring === true) ||
    (mutation.kind === 'deleteAccessEntry' && mutation.because === 'roleDeletion')
  );
}

/** Whether the call deletes an AWS resource, or prepares the deletion of an IAM role. */
export function isDestructive(mutation: Mutation): boolean {
  return mutation.kind === 'deleteProfile' || mutation.kind === 'deleteAccessEntry' || isRoleRemoval(mutation);
}

/** Whether the call changes a Fargate profile, an IAM role or an access entry. */
export function isAbout({ kind }: Mutation): 'profile' | 'role' | 'entry' {
  switch (kind) {
    case 'createProfile':
    case 'deleteProfile':
    case 'tagProfile':
    case 'untagProfile':
      return 'profile';
    case 'createAccessEntry':
    case 'deleteAccessEntry':
      return 'entry';
    default:
      return 'role';
  }
}
