import type { ClusterName, EksClusterName, ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AdoptionPolicy, ReplacementProfile } from '../../../api/v1beta2/index.ts';
import type { NewRole, FargateSelector } from '../../../pkg/cloud/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import type { AwsLocation } from '../../../pkg/fargate/arns.ts';
import type { LimitExcess, OperatorLimits } from '../../../pkg/fargate/operator-limits.ts';
import type { AdoptableNames } from '../../../pkg/fargate/ownership.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { Abandonment } from '../reasons/wording/abandonment.ts';
import type { SubnetSource } from '../reasons/wording/subnet-correction.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { Surplus } from './goal-kinds.ts';
import type { Location } from './location.ts';

/**
 * The AWSFargateProfile and its EKS cluster, with the values from which ownership tags and names of AWS resources are
 * made.
 */
export interface ObjectIdentity {
  readonly namespace: string;
  readonly name: string;
  /** The name of the Cluster; undefined if spec.eksCluster names the EKS cluster instead. */
  readonly clusterName: ClusterName | undefined;
  readonly eksCluster: EksClusterName;
  readonly eksClusterArn: string;
  /**
   * The profile name: spec.profileName, or the computed name. If the object is not being deleted and lacks
   * spec.profileName, it is the name in status, as long as EKS has the object's profile with that name.
   */
  readonly profileName: ProfileName;
  /** All role names that any version of Cluster API Provider AWS computes for the object's profile. */
  readonly capaRoleNames: readonly RoleName[];
  readonly adoptable: AdoptableNames;
}

export interface WantedProfile {
  readonly name: ProfileName;
  /** The ids of the subnets. With an empty list, EKS chooses the private subnets of the cluster. */
  readonly subnets: readonly string[];
  /**
   * Which field names the subnets. If the field is not spec.subnetIDs, an existing profile of this controller may have
   * any subnets.
   */
  readonly subnetSource: SubnetSource;
  readonly selectors: readonly FargateSelector[];
  readonly tags: Tags;
  /** What the controller adds to the profile and may later remove, in the words of the record in its tags. */
  readonly additions: readonly string[];
}

/** An IAM role that this controller creates and corrects according to the spec. */
export interface ManagedRole extends NewRole {
  readonly kind: 'managed';
  readonly arn: RoleArn;
  /**
   * ARNs of the managed policies: the pod execution policy, then those of spec.roleAdditionalPolicies that the
   * operator's limits allow.
   */
  readonly policies: readonly string[];
  /**
   * Whether spec.roleName is set. If it is, a role of another owner with that name is used unchanged. If not, the role
   * has a computed name or the name that the existing profile uses, and must belong to this controller.
   */
  readonly isNamedInSpec: boolean;
  /**
   * Whether the permissions boundary comes only from the operator's limits (flags of the manager), and not from the
   * spec.
   */
  readonly isBoundaryFromLimits: boolean;
  /**
   * Policies of spec.roleAdditionalPolicies that the operator's limits (flags of the manager) do not allow. The
   * controller does not attach them. It does not detach them either, so existing profiles keep working.
   */
  readonly excludedPolicies: readonly string[];
  /** What the controller adds to the role and may later remove, in the words of the record in its tags. */
  readonly additions: readonly string[];
}

/** The existing IAM role of spec.roleARN. The controller uses this role and never changes it. */
export interface ExistingRole {
  readonly kind: 'existing';
  readonly name: RoleName;
  readonly arn: RoleArn;
}

export type WantedRole = ManagedRole | ExistingRole;

/**
 * The facts that status and annotations of an AWSFargateProfile record about earlier reconciles. They do not decide
 * whether a Fargate profile or role belongs to this controller: only its tags do.
 */
export interface RecordedState {
  readonly profileName: ProfileName | undefined;
  /** The name in the last create request. During a replacement it is the name of the successor. */
  readonly requestedName: ProfileName | undefined;
  /** The successor and the predecessors of a replacement, as far as their names are valid. */
  readonly replacement: readonly ReplacementProfile[];
  /** The profile that the spec asked for when it was first seen ACTIVE, and that time in ms since 1970. */
  readonly activeSince: { readonly name: string; readonly time: Ms } | undefined;
  /** Whether EKS refused to create a profile, because the EKS cluster has as many as its quota allows. */
  readonly isQuotaExceeded: boolean;
  /** The ARN of the object's Fargate profile, which contains a unique id. */
  readonly profileARN: string | undefined;
  /**
   * The names that the profile and roles of the object may have if status has lost these names, for example in
   * `clusterctl move` or a restore. The list of profiles is empty if status has the account, or the name or ARN of the
   * profile. The list of roles is empty if status has the name of the role. Both lists are empty if the object records
   * no AWS location. A role that the spec names is never listed, because this role may belong to another owner.
   */
  readonly lostNames: { readonly profiles: readonly ProfileName[]; readonly roles: readonly RoleName[] };
  /**
   * Whether Cluster API Provider AWS may have created a profile and roles for this object, but nothing proves that they
   * belong to the object. The flag is true in a deletion if the control plane is not ready, or if the operator's limits
   * (flags of the manager) do not allow the EKS cluster in spec.eksCluster. Always `false` if `wanted` is set, or if
   * the object records that nothing was created in AWS.
   */
  readonly isUnproven: boolean;
  readonly roleName: RoleName | undefined;
  /**
   * Whether this controller manages the IAM role in status. `false` for a role of another owner and for the role of
   * spec.roleARN, `undefined` if it is not known.
   */
  readonly isRoleManaged: boolean | undefined;
  /**
   * IAM's unique id (`AROA…`) of the role that status records. If the role is recreated, status keeps the id of the
   * deleted role until AWS is as the spec asks for, or until a user confirms that the access entry was recreated.
   */
  readonly roleId: string | undefined;
  /** The unique id of a recreated IAM role for which a user has recreated the EKS access entry. */
  readonly accessEntryRenewedFor: string | undefined;
  /** The unique id of the IAM role for which the controller has last checked the EKS access entry. */
  readonly accessEntryCheckedFor: string | undefined;
  /**
   * The ARN of the IAM role whose EKS access entry this controller has deleted or is about to delete, because the entry
   * belongs to an earlier role.
   */
  readonly accessEntryDeletedOf: string | undefined;
  /**
   * The policies, the permissions boundary and the tag keys that this controller set, according to status. The
   * controller removes them only if the tags of the profile or role record that it has added them.
   */
  readonly attachedPolicies: readonly string[];
  readonly permissionsBoundary: string | undefined;
  readonly tagKeys: readonly string[];
  /**
   * Whether the Fargate profile has once been ACTIVE and equal to the spec. From then on, the controller reports
   * differences and does not replace the profile.
   */
  readonly isProvisioned: boolean;
  /**
   * Whether the controller has sent a create request for the Fargate profile. If it has, it may replace a profile that
   * differs from the spec, as long as `isProvisioned` is false.
   */
  readonly isCreateRequested: boolean;
  /**
   * Whether status or annotation record the AWS location of the Fargate profile (`known`), record that nothing was
   * created in AWS (`none`), or record neither (`unknown`).
   */
  readonly location: Location['kind'];
  /**
   * Whether the result of a create request for the Fargate profile is not known, and this process first noticed the
   * request less than a minute ago. A "not found" from EKS then does not prove that the profile does not exist.
   */
  readonly isCreateUnconfirmed: boolean;
}

/**
 * The state of AWS that an AWSFargateProfile asks for, with all other facts from which `decide` chooses the next step.
 */
export interface Desired {
  readonly identity: ObjectIdentity;
  /**
   * The IAM role in spec.roleARN. The controller never changes or deletes this role, even if status still records it as
   * a role of this controller.
   */
  readonly broughtRole: RoleArn | undefined;
  /**
   * The profile and role that the spec asks for. `undefined` if the object is being deleted, or if its EKS cluster is
   * being deleted and deletionPolicy is Retain.
   */
  readonly wanted: { readonly profile: WantedProfile; readonly role: WantedRole } | undefined;
  readonly surplus: Surplus;
  /**
   * How a user can end the deletion of the object if the controller cannot delete the Fargate profile; `undefined` if
   * `wanted` is set.
   */
  readonly abandonment: Abandonment | undefined;
  /** Whether the EKS cluster is being deleted. Always `false` if `wanted` is set. */
  readonly isClusterLeaving: boolean;
  readonly adoptionPolicy: AdoptionPolicy;
  /** Whether a new profile takes the place of a profile that differs from the spec; always false without `wanted`. */
  readonly isReplaceable: boolean;
  /** How long a predecessor stays beside the ACTIVE wanted profile, in ms. */
  readonly keepPredecessorFor: Ms;
  /** The wall-clock time of the pass, in ms since 1970. */
  readonly now: Ms;
  readonly recorded: RecordedState;
  /**
   * The reason for which no profile and no role may be created now. It does not prevent the correction and deletion of
   * existing profiles and roles.
   */
  readonly creationBlocker: Reason | undefined;
  /**
   * The reason to stop if an older object shares the managed IAM role and asks for other settings of the role. This
   * reason does not stop an object whose role belongs to another owner, because this controller sets nothing on such a
   * role.
   */
  readonly roleConflict?: Reason;
  readonly place: AwsLocation;
  readonly limits: OperatorLimits;
  /**
   * The values of the spec that the operator's limits (flags of the manager) do not allow. They prevent the creation of
   * a profile. An existing profile stays as it is.
   */
  readonly excess: readonly LimitExcess[];
  /**
   * The fields of selectors that have no value in the manifest of the user, for example
   * `spec.selectors[0].labels.compute`. Without these fields the selectors match more pods than the manifest says.
   */
  readonly emptySelectorFields: readonly string[];
  /**
   * All names under which the object's Fargate profile and role may exist: the wanted names and the names in status,
   * and for a deletion the computed names too. A reconcile reads the profiles and roles with these names from AWS.
   */
  readonly names: { readonly profiles: readonly ProfileName[]; readonly roles: readonly RoleName[] };
}
