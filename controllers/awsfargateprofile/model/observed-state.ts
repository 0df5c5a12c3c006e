import type { RoleArn, RoleName } from '../../../api/names.ts';
import type { Role, AccessEntry, FargateProfile } from '../../../pkg/cloud/index.ts';

export interface ObservedRole {
  readonly name: RoleName;
  /** `unread`: a Fargate profile has to be deleted before the role, so IAM was not asked. */
  readonly found: FoundRole | 'unread' | undefined;
}

export interface FoundRole extends Role {
  /** ARNs of the attached managed policies. Empty for the role of spec.roleARN, whose policies are not read. */
  readonly attached: readonly string[];
  /** The attachments because of which IAM refuses to delete the role, as text. Read only for a role to delete. */
  readonly blockers: readonly string[];
}

export interface ObservedAccessEntry {
  readonly principal: RoleArn;
  /**
   * `accessConfig.authenticationMode` of the EKS cluster; with `CONFIG_MAP` it has no access entries. `undefined`: AWS
   * refuses to show the mode.
   */
  readonly mode: string | undefined;
  /** `undefined` if there is none, or if AWS refuses to show it. */
  readonly found: Pick<AccessEntry, 'type' | 'createdAt'> | undefined;
  /** The error message with which AWS has refused to read or change the entry. */
  readonly refusal?: string;
  /** AWS has denied the read in this pass; an event reports it. */
  readonly isUnreadable?: true;
}

export interface Observed {
  /**
   * A `survey` has read each profile of the EKS cluster. A `glance` has read only the noted ones, which suffices at rest and
   * while EKS makes a change: nothing is created or deleted after it.
   */
  readonly depth: 'glance' | 'survey';
  readonly cluster: 'there' | 'gone';
  /** Also the profiles of other owners. */
  readonly profiles: readonly FargateProfile[];
  /** The roles that the spec or the note names, and those of the profiles of this object. */
  readonly roles: readonly ObservedRole[];
  /** Read only where a decision depends on them. */
  readonly accessEntries?: readonly ObservedAccessEntry[];
  /** Read only where the EKS cluster is being deleted. `unreadable`: AWS refuses to show it. */
  readonly deletionProtection?:
    { readonly kind: 'on' | 'off' } | { readonly kind: 'unreadable'; readonly refusal: string } | undefined;
  /** `unreadable`: AWS refuses to show the mode. Read only if the role has a path. */
  readonly authenticationMode?: string;
}

export const foundRoles = (roles: readonly ObservedRole[]): readonly FoundRole[] =>
  roles.flatMap(({ found }) => (found === undefined || found === 'unread' ? [] : [found]));
