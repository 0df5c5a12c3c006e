import { ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { Words } from './reason-entry.ts';
import { described, growing, listed, quoted, slowly, watched } from './reason-entry.ts';

const iam = { part: 'IAMFargateRolesReady' } as const;

type Named = { readonly name: string };

/** What there is to say of the pod execution role. */
export const ROLE_REASONS = {
  RoleNotOwned: described<Named & { readonly whose: string }>({
    nature: 'human',
    ...iam,
    poll: slowly,
    words: ({ name, whose }) => `IAM role ${quoted(name)} exists already and belongs to ${whose}. It is left untouched`,
    cure: () =>
      'Name it in spec.roleARN to use it as it is, or choose another spec.roleName; should the role go, its name is taken by itself',
  }),
  RoleNotFound: described<Named>({
    nature: 'human',
    ...iam,
    poll: slowly,
    words: ({ name }) => `IAM role ${quoted(name)} does not exist, and it was not made by this controller`,
    cure: () => 'Create the role, or correct spec.roleARN or spec.roleName',
  }),
  /** `ours`: the policy is the one that this controller keeps. */
  RoleTrustInvalid: described<Named & { readonly problem: string; readonly ours: boolean }>({
    nature: 'human',
    ...iam,
    poll: slowly,
    words: ({ name, problem }) =>
      `the trust policy of IAM role ${quoted(name)} does not let EKS Fargate assume it: ${problem}`,
    cure: ({ ours }) =>
      ours
        ? 'The policy is as EKS wants it: look for what else forbids it, such as a service control policy; it is tried again by itself'
        : "Correct the role's trust policy; it is read again by itself",
  }),
  /** `other`: who has it as it is, where that is known. */
  RoleSettingsConflict: described<Named & { readonly other?: string; readonly settings: readonly string[] }>({
    nature: 'human',
    ...iam,
    poll: watched,
    endedBySibling: 'changed',
    words: ({ name, other = 'a Fargate profile', settings }) =>
      `IAM role ${quoted(name)} is used by ${other} too, and this object wants it otherwise: ${listed(settings)}`,
    cure: () => 'Give both the same role settings, or this object a role of its own in spec.roleName',
  }),
  RoleRecreated: described<Named & { readonly arn: string; readonly id: string; readonly cluster: string }>({
    nature: 'human',
    ...iam,
    poll: slowly,
    words: ({ name, id }) =>
      `IAM role ${quoted(name)} was deleted by somebody and has been made anew as ${id}: the cluster's access entry is bound to the former one, so pods of this profile cannot start`,
    cure: ({ arn, id, cluster }) =>
      `Delete the access entry of ${arn} in EKS cluster ${cluster} and create it again with type FARGATE_LINUX, then set the annotation ${ACCESS_ENTRY_RENEWED_ANNOTATION}=${id} on this object`,
  }),
  RoleBlocked: described<Named & { readonly blockers: readonly string[] }>({
    nature: 'human',
    ...iam,
    poll: slowly,
    words: ({ name, blockers }) => `IAM role ${quoted(name)} cannot be deleted while it has ${listed(blockers)}`,
    cure: () => 'Take that off the role; the deletion goes on by itself',
  }),
  Propagating: described<Words>({
    nature: 'wait',
    poll: growing,
    words: ({ words }) => words,
  }),
} as const;
