import type { Ms } from 'controller-runtime/env';
import type { ClusterName, EksClusterName, ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AdoptionPolicy } from '../../../api/v1beta2/index.ts';
import type { FargateProfile, NewRole, FargateSelector } from '../../../pkg/cloud/index.ts';
import type { AwsLocation } from '../../../pkg/fargate/arns.ts';
import type { LimitExcess, OperatorLimits } from '../../../pkg/fargate/operator-limits.ts';
import type { AdoptableNames } from '../../../pkg/fargate/ownership.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { Abandonment, SubnetSource } from '../reasons/wording.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { UnwantedPolicy } from '../goal/goal.ts';
import type { ProfileRecord } from '../../shared/record.ts';

export interface ObjectIdentity {
  readonly namespace: string;
  readonly name: string;
  /** `undefined` if the EKS cluster comes from spec.eksCluster instead. */
  readonly clusterName: ClusterName | undefined;
  readonly eksCluster: EksClusterName;
  readonly eksClusterArn: string;
  /**
   * spec.profileName or the computed name, from which the names of the role and of replacements derive. Under
   * updateStrategy Reject, a live object without spec.profileName keeps the name of the profile that serves.
   */
  readonly profileName: ProfileName;
  /** The role names that any version of Cluster API Provider AWS computes for the object's profile. */
  readonly capaRoleNames: readonly RoleName[];
  readonly adoptionPolicy: AdoptionPolicy;
  readonly adoptable: AdoptableNames;
}

export interface DesiredProfile {
  readonly name: ProfileName;
  /** If the list is empty, EKS chooses the cluster's private subnets. */
  readonly subnets: readonly string[];
  /** Unless this is `spec`, an existing profile of this controller may have any subnets. */
  readonly subnetSource: SubnetSource;
  readonly selectors: readonly FargateSelector[];
  readonly tags: Tags;
  readonly additions: readonly string[];
}

/** An IAM role that this controller creates and corrects to match the spec. */
export interface ManagedRole extends NewRole, SharersSettings {
  readonly kind: 'managed';
  readonly arn: RoleArn;
  readonly policies: readonly string[];
  /**
   * If true, another owner's role with this name is used unchanged. A role with a computed name, or with the name that
   * the existing profile uses, must belong to this controller.
   */
  readonly isNamedInSpec: boolean;
  /** Whether the permissions boundary is required by the operator's limits and not by the spec. */
  readonly isBoundaryFromLimits: boolean;
  /**
   * Of these policies, those that the operator's limits do not allow are neither attached nor detached, so that
   * existing profiles keep working.
   */
  readonly policiesInSpec: readonly string[];
  /** What the controller adds to the role and may later remove, such as `policy <ARN>`. Tags record digests of it. */
  readonly additions: readonly string[];
}

/** What the other objects that use the managed role want. */
export interface SharersSettings {
  /** Set if an object with precedence wants different settings for the role. */
  readonly roleConflict: Reason | undefined;
  /** The lower-case keys of the tags that other objects want on the role. */
  readonly keysOfOthers: readonly string[];
  /**
   * Fargate profiles with the role whose objects, of this namespace, name another role, are being deleted, or are not
   * known to the manager. Nothing here says which settings these profiles need. A deletion may retain such a profile,
   * or another management cluster may have its object.
   */
  readonly unknownUsers: readonly ProfileName[];
}

/** The controller only uses this role, from spec.roleARN, and never changes it. */
export interface ExistingRole {
  readonly kind: 'existing';
  readonly name: RoleName;
  readonly arn: RoleArn;
}

export type DesiredRole = ManagedRole | ExistingRole;

/** The profile and the role that the object should have in AWS. */
export interface DesiredResources {
  readonly profile: DesiredProfile;
  readonly role: DesiredRole;
}

/** The object is being deleted, or its EKS cluster is being deleted and deletionPolicy is Retain. */
interface NoResources {
  readonly profile: undefined;
  readonly role: undefined;
}

/** What the object should have in AWS, decided once per reconcile. The plan is made from it. */
export type Desired = (DesiredResources | NoResources) & Circumstances;

/** What the plan has to know besides profile and role. */
export interface Circumstances {
  readonly identity: ObjectIdentity;
  /** The role in spec.roleARN, which is never changed or deleted. */
  readonly userProvidedRole: RoleArn | undefined;
  readonly unwanted: UnwantedPolicy;
  /** How a user can end the deletion if the controller cannot delete the profile. */
  readonly abandonment: Abandonment | undefined;
  /** Whether nothing is desired, and the EKS cluster is being deleted too. */
  readonly isLeavingWithCluster: boolean;
  /** Whether a new profile replaces a profile that differs from the spec. */
  readonly isReplaceable: boolean;
  /** How long a predecessor stays next to the ACTIVE desired profile. */
  readonly keepPredecessorFor: Ms;
  /** How long a predecessor's pods are evicted before it is deleted. With 0, they are not evicted. */
  readonly drainTimeout: Ms;
  /** AWS's time, in ms since 1970. */
  readonly now: Ms;
  /** Shows where the object may have resources in AWS. Updated after this reconcile has read AWS. */
  readonly record: ProfileRecord;
  /** Profiles with this object's owner tag that another copy of the object, with another record, has created. */
  readonly elsewhere: readonly FargateProfile[];
  /** Whether the object has recently lost its record, so that one of its create requests may be unanswered. */
  readonly isLost: boolean;
  /** Whether the profile has ever been ACTIVE and equal to the spec, by `status.initialization.provisioned`. */
  readonly isProvisioned: boolean;
  /** Whether the API server rejects changes to the fields that EKS cannot change. */
  readonly isSpecFixed: boolean;
  /** Whether this process knows that EKS refuses to create a profile because of its quota. */
  readonly isQuotaExceeded: boolean;
  /**
   * Whether Cluster API Provider AWS may have created a profile and roles for this deleted object, although nothing
   * proves that they belong to the object.
   */
  readonly isUnproven: boolean;
  /** Why nothing may be created now. Existing profiles and roles are still corrected and deleted. */
  readonly creationBlocker: Reason | undefined;
  readonly place: AwsLocation;
  readonly limits: OperatorLimits;
  /**
   * Values in the spec that the operator's limits do not allow. They prevent the creation of a profile, but an existing
   * profile stays as it is.
   */
  readonly excess: readonly LimitExcess[];
  /**
   * Selector fields without a value in the user's manifest, such as `spec.selectors[0].labels.compute`. Without them,
   * the selectors match more pods than the manifest says.
   */
  readonly emptySelectorFields: readonly string[];
}
