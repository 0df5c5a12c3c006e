import type { ClusterName, EksClusterName, ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AdoptionPolicy, ReplacementProfile } from '../../../api/v1beta2/index.ts';
import type { NewRole, FargateSelector } from '../../../pkg/cloud/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import type { AwsLocation } from '../../../pkg/fargate/arns.ts';
import type { LimitExcess, OperatorLimits } from '../../../pkg/fargate/operator-limits.ts';
import type { AdoptableNames } from '../../../pkg/fargate/ownership.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { Abandonment } from '../reasons/wording/abandonment.ts';
import type { SubnetSource } from '../reasons/wording/phrases.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { Surplus } from './goal-kinds.ts';
import type { Location } from './location.ts';

export interface ObjectIdentity {
  readonly namespace: string;
  readonly name: string;
  /** The name of the Cluster; undefined if spec.eksCluster names the EKS cluster instead. */
  readonly clusterName: ClusterName | undefined;
  readonly eksCluster: EksClusterName;
  readonly eksClusterArn: string;
  /**
   * spec.profileName, or the computed name. A live object without spec.profileName keeps the name in status as long as
   * EKS has its profile with that name.
   */
  readonly profileName: ProfileName;
  /** The role names that any version of Cluster API Provider AWS computes for the object's profile. */
  readonly capaRoleNames: readonly RoleName[];
  readonly adoptable: AdoptableNames;
}

export interface WantedProfile {
  readonly name: ProfileName;
  /** With an empty list, EKS chooses the private subnets of the cluster. */
  readonly subnets: readonly string[];
  /** If this is not `spec`, an existing profile of this controller may have any subnets. */
  readonly subnetSource: SubnetSource;
  readonly selectors: readonly FargateSelector[];
  readonly tags: Tags;
  /** See {@link ManagedRole.additions}. */
  readonly additions: readonly string[];
}

/** An IAM role that this controller creates and corrects according to the spec. */
export interface ManagedRole extends NewRole {
  readonly kind: 'managed';
  readonly arn: RoleArn;
  readonly policies: readonly string[];
  /**
   * Whether spec.roleName is set. Then a role of another owner with that name is used unchanged. A role with a computed
   * name, or with the name that the existing profile uses, must belong to this controller.
   */
  readonly isNamedInSpec: boolean;
  /** The operator's limits require the boundary, and the spec does not. */
  readonly isBoundaryFromLimits: boolean;
  /**
   * Those that the operator's limits do not allow are not attached, and not detached either, so that existing profiles
   * keep working.
   */
  readonly policiesInSpec: readonly string[];
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

/** What status and annotations record. Only tags prove ownership. */
export interface RecordedState {
  readonly profileName: ProfileName | undefined;
  /** The name in the last create request. During a replacement it is the name of the successor. */
  readonly requestedName: ProfileName | undefined;
  /** The successor and the predecessors, as far as their names are valid. */
  readonly replacement: readonly ReplacementProfile[];
  /** The time in ms since 1970 at which the profile that the spec asked for was first seen ACTIVE. */
  readonly activeSince: { readonly name: string; readonly time: Ms } | undefined;
  readonly isQuotaExceeded: boolean;
  /** The ARN contains a unique id. */
  readonly profileARN: string | undefined;
  /**
   * Names that profile and roles may have if status has lost them, for example in `clusterctl move` or a restore. Both
   * lists are empty without a recorded location. A role that the spec names is never listed, because it may belong to
   * another owner.
   */
  readonly lostNames: { readonly profiles: readonly ProfileName[]; readonly roles: readonly RoleName[] };
  /**
   * Whether Cluster API Provider AWS may have created a profile and roles for this deleted object, but nothing proves
   * that they belong to the object.
   */
  readonly isUnproven: boolean;
  readonly roleName: RoleName | undefined;
  /** `false` for a role of another owner and for the role of spec.roleARN, `undefined` if it is not known. */
  readonly isRoleManaged: boolean | undefined;
  /**
   * IAM's unique id (`AROA…`). After the role was recreated, status keeps the id of the deleted role until AWS is as
   * the spec asks for, or until a user confirms that the access entry was recreated.
   */
  readonly roleId: string | undefined;
  /** The id of a recreated role for which a user has recreated the EKS access entry. */
  readonly accessEntryRenewedFor: string | undefined;
  readonly accessEntryCheckedFor: string | undefined;
  /**
   * The role whose EKS access entry this controller has deleted or is about to delete, because the entry belongs to an
   * earlier role.
   */
  readonly accessEntryDeletedOf: string | undefined;
  /** What status records. The controller removes only what the tags of the profile or role record too. */
  readonly attachedPolicies: readonly string[];
  readonly permissionsBoundary: string | undefined;
  readonly tagKeys: readonly string[];
  /**
   * Whether the profile has once been ACTIVE and equal to the spec. From then on, the controller reports differences
   * and does not replace the profile.
   */
  readonly isProvisioned: boolean;
  readonly isCreateRequested: boolean;
  readonly location: Location['kind'];
  /**
   * Whether the result of a create request is not known, and this process first noticed the request less than a minute
   * ago. A "not found" from EKS then does not prove that the profile does not exist.
   */
  readonly isCreateUnconfirmed: boolean;
}

export interface Desired {
  readonly identity: ObjectIdentity;
  /**
   * The role of spec.roleARN is never changed or deleted, even if status still records it as a role of this controller.
   */
  readonly broughtRole: RoleArn | undefined;
  /**
   * `undefined` if the object is being deleted, or if its EKS cluster is being deleted and deletionPolicy is Retain.
   */
  readonly wanted: { readonly profile: WantedProfile; readonly role: WantedRole } | undefined;
  readonly surplus: Surplus;
  /** How a user can end the deletion if the controller cannot delete the profile. */
  readonly abandonment: Abandonment | undefined;
  /** Always `false` if `wanted` is set. */
  readonly isClusterLeaving: boolean;
  readonly adoptionPolicy: AdoptionPolicy;
  /** Whether a new profile takes the place of one that differs from the spec; `false` without `wanted`. */
  readonly isReplaceable: boolean;
  /** How long a predecessor stays beside the ACTIVE wanted profile, in ms. */
  readonly keepPredecessorFor: Ms;
  /** Wall clock, ms since 1970. */
  readonly now: Ms;
  readonly recorded: RecordedState;
  /** Why nothing may be created now. Existing profiles and roles are corrected and deleted all the same. */
  readonly creationBlocker: Reason | undefined;
  /** An older object shares the managed role and asks for other settings of it. */
  readonly roleConflict?: Reason;
  readonly place: AwsLocation;
  readonly limits: OperatorLimits;
  /**
   * Values of the spec that the operator's limits do not allow. They prevent the creation of a profile; an existing
   * profile stays as it is.
   */
  readonly excess: readonly LimitExcess[];
  /**
   * Fields of selectors without a value in the user's manifest, such as `spec.selectors[0].labels.compute`. Without
   * them the selectors match more pods than the manifest says.
   */
  readonly emptySelectorFields: readonly string[];
  /** All names under which the object's profile and role may exist. A pass reads all of them. */
  readonly names: { readonly profiles: readonly ProfileName[]; readonly roles: readonly RoleName[] };
}
