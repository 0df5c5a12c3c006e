import type { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { NewRole, NewFargateProfile } from '../../../pkg/cloud/index.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';

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
  /** `retiring`: the role is deleted next. */
  | {
      readonly kind: 'detachPolicy';
      readonly name: RoleName;
      readonly policyArn: string;
      readonly retiring: boolean;
    }
  /**
   * `retiring`: the role is deleted next. The documented IAM policy allows to delete only roles with the tags of this
   * controller, so they are set first.
   */
  | { readonly kind: 'tagRole'; readonly name: RoleName; readonly tags: Tags; readonly retiring?: true }
  | { readonly kind: 'untagRole'; readonly name: RoleName; readonly keys: readonly string[] }
  /** `principal` is the ARN of the role `name`. */
  | { readonly kind: 'createAccessEntry'; readonly name: RoleName; readonly principal: RoleArn }
  /**
   * `profileCreation` and `roleRecreated`: the entry belongs to an earlier role with the same ARN. In the second case,
   * a live profile uses the present role.
   */
  | {
      readonly kind: 'deleteAccessEntry';
      readonly name: RoleName;
      readonly principal: RoleArn;
      readonly because: 'roleDeletion' | 'profileCreation' | 'roleRecreated';
    };

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

export function resourceOf(mutation: Mutation): string {
  if (isAccessEntryMutation(mutation)) return `the access entry of ${mutation.principal}`;
  const isOfProfile = isQueuedMutation(mutation) || mutation.kind === 'tagProfile' || mutation.kind === 'untagProfile';
  return `${isOfProfile ? 'Fargate profile' : 'IAM role'} "${subjectOf(mutation)}"`;
}

/** EKS creates or deletes one profile of a cluster at a time, so these calls wait in its lane. */
export function isQueuedMutation(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'createProfile' | 'deleteProfile' }> {
  return mutation.kind === 'createProfile' || mutation.kind === 'deleteProfile';
}

/** Completes the sentence "Fargate profile x is …". */
export const describeQueued = ({ kind }: Mutation): string =>
  kind === 'createProfile' ? 'being created' : 'being deleted';

export const isCreation = ({ kind }: Mutation): boolean =>
  kind === 'createProfile' || kind === 'createRole' || kind === 'createAccessEntry';

/** The permission for these calls is optional. */
export function isAccessEntryMutation(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'createAccessEntry' | 'deleteAccessEntry' }> {
  return mutation.kind === 'createAccessEntry' || mutation.kind === 'deleteAccessEntry';
}

/** Whether the call deletes a role, or prepares its deletion. */
export function isRoleRemoval(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'deleteRole' | 'detachPolicy' | 'tagRole' | 'deleteAccessEntry' }> {
  return (
    mutation.kind === 'deleteRole' ||
    ((mutation.kind === 'detachPolicy' || mutation.kind === 'tagRole') && mutation.retiring === true) ||
    (mutation.kind === 'deleteAccessEntry' && mutation.because === 'roleDeletion')
  );
}

export function isDestructive(mutation: Mutation): boolean {
  return mutation.kind === 'deleteProfile' || mutation.kind === 'deleteAccessEntry' || isRoleRemoval(mutation);
}

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
