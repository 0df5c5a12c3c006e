import type { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { Role, AccessEntry, FargateProfile } from '../../../pkg/cloud/index.ts';

export interface ObservedProfile {
  readonly name: ProfileName;
  readonly found: FargateProfile | undefined;
}

export interface ObservedRole {
  readonly name: RoleName;
  /**
   * The role in IAM; `undefined` if it does not exist. `unread` if this reconcile has not asked IAM, because a Fargate
   * profile has to be deleted before the role.
   */
  readonly found: FoundRole | 'unread' | undefined;
}

export interface FoundRole extends Role {
  /**
   * The ARNs of the managed policies that are attached to the role. Empty for the role of spec.roleARN, because the
   * controller does not read its policies.
   */
  readonly attached: readonly string[];
  /**
   * The attachments because of which IAM refuses to delete the role, as text for a condition. They are read only for a
   * role that the controller is going to delete.
   */
  readonly blockers: readonly string[];
}

/** The facts that a reconcile has read about the EKS access entry of an IAM role. */
export interface ObservedAccessEntry {
  /** The ARN of the IAM role to which the access entry belongs. */
  readonly principal: RoleArn;
  /**
   * The `accessConfig.authenticationMode` of the EKS cluster; `CONFIG_MAP`: the cluster has no access entries.
   * `undefined`: AWS refuses to show the mode.
   */
  readonly mode: string | undefined;
  /** The access entry. `undefined` if the role has none, or if AWS refuses to show it. */
  readonly found: Pick<AccessEntry, 'type' | 'createdAt'> | undefined;
  /**
   * The error message with which AWS has refused to read or to change the entry, for example because of a missing
   * permission.
   */
  readonly refusal?: string;
  /** Whether AWS has denied the read of the access entry in this reconcile. If so, an event reports the denial. */
  readonly isUnreadable?: true;
}

/**
 * The state of AWS that a reconcile has read: the EKS cluster, and each Fargate profile and IAM role in
 * `Desired.names`.
 */
export interface Observed {
  readonly cluster: 'there' | 'gone';
  readonly profiles: readonly ObservedProfile[];
  readonly roles: readonly ObservedRole[];
  /**
   * The access entries of the EKS cluster that this reconcile has read. They are read only when a decision depends on
   * them.
   */
  readonly accessEntries?: readonly ObservedAccessEntry[];
  /**
   * The `accessConfig.authenticationMode` of the EKS cluster; `unreadable`: AWS refuses to show the mode. It is read only
   * when a decision depends on it: the pod execution role has a path.
   */
  readonly authenticationMode?: string;
}
