import type { Either } from 'fp-ts/lib/Either.js';
import type { ClusterName, EksClusterName, ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AdoptionPolicy } from '../../../api/v1beta2/index.ts';
import type { FargateSelector, NewRole } from '../../../pkg/cloud/types.ts';
import type { AwsLocation } from '../../../pkg/fargate/arns.ts';
import type { LimitExcess, OperatorLimits } from '../../../pkg/fargate/limits.ts';
import type { AdoptableNames } from '../../../pkg/fargate/ownership.ts';
import type { Tags } from '../../../pkg/fargate/tags.ts';
import type { Abandonment } from '../reasons/abandonment.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { Surplus } from './goal-kinds.ts';
import type { Location } from './location.ts';

/** The object and its EKS cluster, with the values that ownership tags and names of profiles and roles are made of. */
export interface ObjectIdentity {
  readonly namespace: string;
  readonly name: string;
  /** The name of the Cluster; undefined: the EKS cluster has no Cluster. */
  readonly clusterName: ClusterName | undefined;
  readonly eksCluster: EksClusterName;
  readonly eksClusterArn: string;
  /** The profile name that the spec gives; the wanted profile can have the name in status instead. */
  readonly profileName: ProfileName;
  /** All names that any version of Cluster API Provider AWS computes for the role of the object's profile. */
  readonly capaRoleNames: readonly RoleName[];
  readonly adoptable: AdoptableNames;
}

export interface WantedProfile {
  readonly name: ProfileName;
  /** The ids of the subnets; empty: EKS chooses the private subnets of the cluster. */
  readonly subnets: readonly string[];
  /** Whether spec.subnetIDs names the subnets. If not, an existing profile of this controller may have any subnets. */
  readonly areSubnetsInSpec: boolean;
  readonly selectors: readonly FargateSelector[];
  readonly tags: Tags;
}

/** An IAM role that this controller creates and keeps as the spec wants it. */
export interface ManagedRole extends NewRole {
  readonly kind: 'managed';
  readonly arn: RoleArn;
  /** ARNs of the managed policies: the pod execution policy, then spec.roleAdditionalPolicies. */
  readonly policies: readonly string[];
  /**
   * Whether spec.roleName is set. If it is, a foreign role of that name is used unchanged. If not, the role has a
   * computed name and must belong to this controller.
   */
  readonly isNamedInSpec: boolean;
  /** Whether only the operator's limits ask for the permissions boundary, and not the spec. */
  readonly isBoundaryFromLimits: boolean;
  /**
   * Policies of spec.roleAdditionalPolicies that the operator's limits do not allow. They are neither attached nor
   * detached.
   */
  readonly excludedPolicies: readonly string[];
}

/** The role of spec.roleARN. The controller uses this role and never changes it. */
export interface ExistingRole {
  readonly kind: 'existing';
  readonly name: RoleName;
  readonly arn: RoleArn;
}

export type WantedRole = ManagedRole | ExistingRole;

/**
 * What status and annotations record about earlier passes. The records do not decide whether a profile or role belongs
 * to this controller: only its tags do.
 */
export interface RecordedState {
  readonly profileName: ProfileName | undefined;
  /** The ARN of the profile, which contains a unique id. */
  readonly profileARN: string | undefined;
  /**
   * The names of the object's own profile and roles whose records `clusterctl move` or a restore may have dropped:
   * status does not name them, but an AWS location is recorded. Names that the spec gives to a role are left out,
   * because such a role may belong to another owner.
   */
  readonly lostNames: { readonly profiles: readonly ProfileName[]; readonly roles: readonly RoleName[] };
  /**
   * Whether Cluster API Provider AWS may have created profile and roles for this object, but nothing proves that they
   * belong to the object: the control plane is not ready, or the operator's limits do not allow the EKS cluster in
   * spec.eksCluster.
   */
  readonly isUnproven: boolean;
  readonly roleName: RoleName | undefined;
  /** Whether this controller manages the recorded role; `false` for a foreign role, `undefined` if it is not known. */
  readonly isRoleManaged: boolean | undefined;
  /** IAM's unique id (`AROA…`) of the role at the time when the profile was created with it. */
  readonly roleId: string | undefined;
  /** The unique id of the recreated role for which a user has recreated the EKS access entry. */
  readonly accessEntryRenewedFor: string | undefined;
  /** The unique id of the role for which the controller has last checked the access entry in EKS. */
  readonly accessEntryCheckedFor: string | undefined;
  /**
   * The ARN of the role whose access entry this controller has deleted, because the entry belonged to an earlier role.
   */
  readonly accessEntryDeletedOf: string | undefined;
  readonly attachedPolicies: readonly string[];
  /** The ARN of the permissions boundary that this controller put on the recorded role. */
  readonly permissionsBoundary: string | undefined;
  readonly tagKeys: readonly string[];
  /**
   * Whether the profile has once been ACTIVE and equal to the spec. From then on, a profile that differs from the spec
   * is reported and not replaced.
   */
  readonly isProvisioned: boolean;
  /**
   * Whether the controller has sent a create request for the profile. If it has, a profile that differs from the spec
   * and was never provisioned may be replaced.
   */
  readonly isCreateRequested: boolean;
  /** Whether status or annotation record in which AWS account, region and EKS cluster the profile is. */
  readonly location: Location['kind'];
  /**
   * Whether a create request for the profile was sent less than a minute ago and its result is not known. A "not found"
   * from EKS then does not prove that the profile does not exist.
   */
  readonly isCreateUnconfirmed: boolean;
}

/** The state of AWS that an object asks for, with everything else that `decide` needs to know about the object. */
export interface Desired {
  readonly identity: ObjectIdentity;
  /** The wanted profile and role; `undefined` for a deletion, which wants neither. */
  readonly wanted: { readonly profile: WantedProfile; readonly role: WantedRole } | undefined;
  readonly surplus: Surplus;
  /** How a user can end the deletion if the controller cannot delete the profile; `undefined` if the object stays. */
  readonly abandonment: Abandonment | undefined;
  /** Whether the EKS cluster is going to be deleted together with the profile and the role. */
  readonly isClusterLeaving: boolean;
  readonly adoptionPolicy: AdoptionPolicy;
  readonly recorded: RecordedState;
  /**
   * The reason for which no profile and no role may be created now. Existing ones are corrected and deleted all the
   * same.
   */
  readonly creationBlocker: Reason | undefined;
  /**
   * The reason to stop if an older object shares the managed role and has other settings for the role. This reason does
   * not stop an object whose role is foreign, because this controller sets nothing on a foreign role.
   */
  readonly roleConflict?: Reason;
  readonly place: AwsLocation;
  readonly limits: OperatorLimits;
  /** The values of the spec that the limits do not allow. Existing profiles stay as they are. */
  readonly excess: readonly LimitExcess[];
  /**
   * All names under which the object's profile and role may exist: the wanted names and the names in status. A pass
   * reads the profiles and roles with these names from AWS.
   */
  readonly names: { readonly profiles: readonly ProfileName[]; readonly roles: readonly RoleName[] };
  /** Set if the wanted profile has the name in status, because spec.profileName is absent. */
  readonly nameInStatus?: {
    /**
     * The owner and the names of AWS resources that apply if EKS has a profile with the name in status, and the owner
     * tag of this profile names the object.
     */
    readonly identity: ObjectIdentity;
    /** The desired state, with the computed name, that applies if EKS has no such profile. */
    readonly otherwise: Either<Reason, Desired>;
  };
}
