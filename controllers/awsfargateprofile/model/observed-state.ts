import type { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AccessEntry, FargateProfile, Role } from '../../../pkg/cloud/types.ts';

export interface ObservedProfile {
  readonly name: ProfileName;
  readonly found: FargateProfile | undefined;
}

export interface ObservedRole {
  readonly name: RoleName;
  /**
   * The role in IAM; `undefined`: the role does not exist. `unread`: the pass has not asked IAM, because a profile is
   * deleted first anyway.
   */
  readonly found: FoundRole | 'unread' | undefined;
}

export interface FoundRole extends Role {
  /** The ARNs of the managed policies that are attached to the role. */
  readonly attached: readonly string[];
  /**
   * The attachments because of which IAM refuses to delete the role, in words for a condition. They are read only for a
   * role that the controller is going to delete.
   */
  readonly blockers: readonly string[];
  /**
   * The object or profile that uses the role, in words. The check before a deletion of the role sets this text, and the
   * role is then not deleted.
   */
  readonly inUseBy?: string;
}

/** What a pass knows about the access entry of a role. */
export interface ObservedAccessEntry {
  /** The ARN of the role. */
  readonly principal: RoleArn;
  /**
   * The `accessConfig.authenticationMode` of the EKS cluster; `CONFIG_MAP`: the cluster has no access entries.
   * `undefined`: AWS refuses to show the mode.
   */
  readonly mode: string | undefined;
  /** The access entry; `undefined`: the role has none, or AWS has not told. */
  readonly found: Pick<AccessEntry, 'type' | 'createdAt'> | undefined;
  /** The words of AWS, if AWS has refused to read or to change the entry, for example for a missing permission. */
  readonly refusal?: string;
  /** Whether AWS has refused to read the entry. A refused change has an event of its own. */
  readonly isUnreadable?: true;
  /**
   * The live Fargate profile, in words, that uses the role although the entry is older than the role. The check before
   * the deletion of the entry sets this text.
   */
  readonly inUseBy?: string;
  /** Whether this pass has deleted the access entry in EKS. */
  readonly isDeletedByThisPass?: true;
  /** Whether this pass has created the access entry in EKS. A new access entry belongs to the present role. */
  readonly isMadeAnew?: true;
}

/** What a pass has read from AWS: the EKS cluster, and each profile and role in `Desired.names`. */
export interface Observed {
  readonly cluster: 'there' | 'gone';
  readonly profiles: readonly ObservedProfile[];
  readonly roles: readonly ObservedRole[];
  /**
   * The access entries of the EKS cluster that the pass has read. A pass reads them only when a decision depends on
   * them.
   */
  readonly accessEntries?: readonly ObservedAccessEntry[];
}
