import type { RoleArn, RoleName } from '../../../api/names.ts';
import type { Role, AccessEntry, FargateProfile } from '../../../pkg/cloud/index.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { type Mutation, type MutationOutcome, type Step, isAbout, subjectOf } from './change.ts';
import { isNamedAfter, isSameRoleName } from '../../../pkg/fargate/names.ts';
import { areSelectorsEqual } from '../../../pkg/fargate/selectors.ts';
import { areSubnetsEqual } from '../../../pkg/fargate/subnets.ts';
import type { ProfileRecord } from '../../shared/record.ts';
import { rolePathOf } from '../../shared/profile-names.ts';
import type { ObjectIdentity } from './desired-state.ts';
import { CREATING, DELETING } from './profile-status.ts';

export interface ObservedRole {
  readonly name: RoleName;
  /** `unread` means that IAM was not asked, because the creation or deletion of a Fargate profile has to end first. */
  readonly found: FoundRole | 'unread' | undefined;
}

export interface FoundRole extends Role {
  /** ARNs of the attached managed policies. Empty for the role in spec.roleARN, whose policies are not read. */
  readonly attached: readonly string[];
  /** The attachments that make IAM refuse to delete the role, as text. Read only for a role that may be deleted. */
  readonly blockers: readonly string[];
}

export interface ObservedAccessEntry {
  readonly principal: RoleArn;
  /**
   * The EKS cluster's `accessConfig.authenticationMode`. With `CONFIG_MAP`, the cluster has no access entries.
   * `undefined` if AWS refuses to show the mode.
   */
  readonly mode: string | undefined;
  /** `undefined` if there is none, or if AWS refuses to show it. */
  readonly found: Pick<AccessEntry, 'type' | 'createdAt'> | undefined;
  /** AWS's error message, if it has refused the read, which an event reports. */
  readonly refusal?: string;
}

export interface Observed {
  /**
   * A `survey` has read each profile of the EKS cluster. A `glance` has read only the recorded profiles, which suffices
   * while nothing has to change and while EKS makes a change. After a glance, no profile is created or deleted, and no
   * role is created, changed, or deleted.
   */
  readonly depth: 'glance' | 'survey';
  readonly cluster: 'there' | 'gone';
  /** All owners' profiles. */
  readonly profiles: readonly FargateProfile[];
  /** The roles in the spec or the record, and the roles of this object's profiles. */
  readonly roles: readonly ObservedRole[];
  /** Read only if a decision depends on them. */
  readonly accessEntries?: readonly ObservedAccessEntry[];
  /** Read only if the EKS cluster is being deleted. `unreadable` if AWS refuses to show it. */
  readonly deletionProtection?:
    { readonly kind: 'on' | 'off' } | { readonly kind: 'unreadable'; readonly refusal: string } | undefined;
  /** Read only if the role has a path. `unreadable` if AWS refuses to show the mode. */
  readonly authenticationMode?: string;
}

/** What a reconcile looks for in AWS. */
export interface Looking {
  readonly object: AWSFargateProfile;
  readonly identity: ObjectIdentity;
  readonly record: ProfileRecord;
  readonly isLeaving: boolean;
  readonly isLeavingWithCluster: boolean;
}

export type ProfilesAndRoles = Pick<Observed, 'depth' | 'cluster' | 'profiles' | 'roles'>;

export const findProfile = (profiles: readonly FargateProfile[], name: string): FargateProfile | undefined =>
  profiles.find((profile) => profile.name === name);

export const findRole = (roles: readonly ObservedRole[], name: ObservedRole['name']): FoundRole | undefined =>
  foundRoles(roles.filter((role) => isSameRoleName(role.name, name)))[0];

export const areRolesUnread = ({ roles }: Pick<Observed, 'roles'>): boolean =>
  roles.some(({ found }) => found === 'unread');

export const foundRoles = (roles: readonly ObservedRole[]): readonly FoundRole[] =>
  roles.flatMap(({ found }) => (found === undefined || found === 'unread' ? [] : [found]));

/**
 * Compares the name and the immutable fields. If the spec sets no subnets, any subnets fit. If the spec sets no role,
 * the profile's role fits if it has a computed name, or if it is this object's and has the path in the spec. The path of
 * a role with the same name does not count, because a replacement could not use that role with another path.
 */
export function fitsSpec(
  { spec }: AWSFargateProfile,
  { profileName, capaRoleNames }: Pick<ObjectIdentity, 'profileName' | 'capaRoleNames'>,
  { name, selectors, subnets, podExecutionRoleArn }: FargateProfile,
  isOwnRole: (name: RoleName) => boolean,
): boolean {
  const { subnetIDs = [], roleARN, roleName } = spec;
  if (!isNamedAfter(name, profileName) || !areSelectorsEqual(spec.selectors ?? [], selectors)) return false;
  if (subnetIDs.length > 0 && !areSubnetsEqual(subnetIDs, subnets)) return false;
  if (roleARN !== undefined) return podExecutionRoleArn === roleARN;
  const role = parseRoleArn(podExecutionRoleArn);
  if (role === undefined) return false;
  if (roleName !== undefined) return isSameRoleName(roleName, role.name);
  const isComputed = capaRoleNames.some((each) => isSameRoleName(each, role.name));
  return isComputed || (role.path === rolePathOf({ spec }) && isOwnRole(role.name));
}

/** Does not check who owns the role, because the role is read later. If nothing is desired, no profile fits. */
export const mayFitSpec = ({ object, identity, isLeaving }: Looking, profile: FargateProfile): boolean =>
  !isLeaving && fitsSpec(object, identity, profile, () => true);

/** Returns the observed state after the changes, by AWS's answers, so that reports show them without another read. */
export const observedAfter = (observed: Observed, steps: readonly Step[]): Observed =>
  steps.reduce((before, { mutation, outcome }) => {
    if (outcome.kind !== 'done' && outcome.kind !== 'gone') return before;
    return isAbout(mutation) === 'profile'
      ? { ...before, profiles: profilesAfter(before.profiles, mutation, outcome) }
      : { ...before, roles: before.roles.map((role) => roleAfter(role, mutation, outcome)) };
  }, observed);

function profilesAfter(
  profiles: readonly FargateProfile[],
  mutation: Mutation,
  outcome: MutationOutcome,
): readonly FargateProfile[] {
  if (mutation.kind === 'createProfile') {
    const created = outcome.kind === 'done' ? outcome.profile : undefined;
    const others = profiles.filter(({ name }) => name !== mutation.profile.name);
    return [...others, created ?? { ...mutation.profile, arn: '', status: CREATING, health: [] }];
  }
  if (mutation.kind !== 'deleteProfile') return profiles;
  const others = profiles.filter(({ name }) => name !== mutation.name);
  if (outcome.kind === 'gone') return others;
  return profiles.map((each) => (each.name === mutation.name ? { ...each, status: DELETING } : each));
}

function roleAfter(role: ObservedRole, mutation: Mutation, outcome: MutationOutcome): ObservedRole {
  if (outcome.kind !== 'done' || !isSameRoleName(role.name, subjectOf(mutation))) return role;
  if (mutation.kind === 'createRole')
    return { ...role, found: outcome.role && { ...outcome.role, attached: [], blockers: [] } };
  if (role.found === undefined || role.found === 'unread') return role;
  return { ...role, found: foundAfter(role.found, mutation) };
}

function foundAfter(role: FoundRole, mutation: Mutation): FoundRole | undefined {
  switch (mutation.kind) {
    case 'deleteRole':
      return undefined;
    case 'attachPolicy':
      return { ...role, attached: [...role.attached, mutation.policyArn] };
    case 'detachPolicy':
      return { ...role, attached: role.attached.filter((arn) => arn !== mutation.policyArn) };
    case 'setBoundary':
      return { ...role, permissionsBoundary: mutation.policyArn };
    case 'removeBoundary': {
      const { permissionsBoundary: _removed, ...rest } = role;
      return rest;
    }
    default:
      return role;
  }
}
