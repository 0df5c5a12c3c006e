import type { DrainObstacle, Reason } from '../reasons/reasons.ts';
import type { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileSpec } from '../../../api/v1beta2/index.ts';
import {
  type NewRole,
  type NewFargateProfile,
  isNotDispatched,
  isNotPrepared,
  type AwsFailure,
  type Role,
  type FargateProfile,
} from '../../../pkg/cloud/index.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';

export interface Change {
  readonly mutation: Mutation;
  /**
   * AWS may refuse the change without harm. A notice reports the refusal, or, for an access entry, only an event. The
   * execution continues with the next changes. After any other failure, the execution continues only if this change is
   * `setBoundary`.
   */
  readonly optional?: true;
  /**
   * Not made if an earlier change was refused or not made as a whole. This change removes additions from the tags that
   * record them, so all of these additions must already be gone from the resource.
   */
  readonly ifAllMade?: true;
}

/**
 * The state of a profile or role before the changes. `works`: it matches the spec, except maybe for a tag, or something
 * that AWS may refuse without harm. `broken`: it is missing, or new pods may not start. `notRead`: this reconcile had no
 * reason to read it.
 */
export type Health = 'works' | 'broken' | 'notRead';

/**
 * `inSync`: AWS matches the spec. `released`: nothing in AWS depends on the object anymore, so the controller may
 * remove its finalizer. Any other end is the reason why the changes stop.
 */
export type ReconcileEnd = 'inSync' | 'released' | Reason;

export interface Plan {
  readonly changes: readonly Change[];
  /** These changes clean up after a replacement. A failure is reported but does not change Ready. */
  readonly leftovers: readonly Change[];
  readonly end: ReconcileEnd;
  readonly profile: Health;
  readonly role: Health;
  readonly notices: readonly Reason[];
  /** This controller's roles that the spec no longer wants, but that are not deleted, because `usedBy` uses them. */
  readonly kept: readonly KeptRole[];
  readonly advice: readonly Advice[];
  readonly profiles: readonly OwnProfile[];
  /** The profile that status shows. `undefined` if neither AWS nor the record contains a profile. */
  readonly shown: ProfileName | undefined;
  readonly isRoleManaged: boolean;
  readonly refusedReads: readonly RefusedRead[];
}

/** A read that AWS has refused. The reconcile continues, because the permission for it is optional. */
export type RefusedRead = { readonly refusal: string } & (
  | { readonly of: 'accessEntry'; readonly principal: RoleArn }
  | { readonly of: 'deletionProtection'; readonly eksCluster: string }
);

export interface KeptRole {
  readonly name: string;
  readonly usedBy: string;
}

/** A problem of a profile that matches the spec. `Ready` stays True and shows `message`. */
export interface Advice {
  readonly event: string;
  readonly message: string;
  /** Whether `health` in status shows the problem too. */
  readonly isInStatus: boolean;
}

export interface OwnProfile {
  readonly name: ProfileName;
  /** Whether tags or record prove that the profile is this object's. If not, only a ready control plane could. */
  readonly isProven: boolean;
}

/** Yields changes in order, and returns the reason why the plan ends after them. */
export type PlanPart = Generator<Change, Reason | undefined>;

export const change = (mutation: Mutation): Change => ({ mutation });
export const optional = (mutation: Mutation): Change => ({ mutation, optional: true });
export const ifAllMade = (mutation: Mutation): Change => ({ mutation, optional: true, ifAllMade: true });

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
  /** `retiring` means that the role is deleted next. */
  | {
      readonly kind: 'detachPolicy';
      readonly name: RoleName;
      readonly policyArn: string;
      readonly retiring: boolean;
    }
  /**
   * `retiring` means that the role is deleted next. The documented IAM policy allows the deletion only of roles with
   * this controller's tags, so the tags are set first.
   */
  | { readonly kind: 'tagRole'; readonly name: RoleName; readonly tags: Tags; readonly retiring?: true }
  | { readonly kind: 'untagRole'; readonly name: RoleName; readonly keys: readonly string[] }
  | { readonly kind: 'createAccessEntry'; readonly name: RoleName; readonly principal: RoleArn }
  /**
   * `profileCreation` and `roleRecreated` mean that the access entry belongs to an earlier role with the same ARN. With
   * `roleRecreated`, a live profile uses the current role.
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

/** Whether the mutation must wait in the cluster's queue (cluster-queue.ts): EKS changes one profile at a time. */
export function isQueuedMutation(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'createProfile' | 'deleteProfile' }> {
  return mutation.kind === 'createProfile' || mutation.kind === 'deleteProfile';
}

/**
 * Completes the sentence "Fargate profile x is …". A waiting object reports the sentence for seconds, so it has to be
 * true from before the request until EKS has made the change.
 */
export const describeTurn = ({ kind }: Mutation): string =>
  kind === 'createProfile' ? 'created first' : 'deleted first';

/** Completes the sentence "Fargate profile x is …" after EKS has accepted the request. */
export const describeQueued = ({ kind }: Mutation): string =>
  kind === 'createProfile' ? 'being created' : 'being deleted';

export const isProfileOrRoleCreation = (
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'createRole' | 'createProfile' }> =>
  mutation.kind === 'createRole' || mutation.kind === 'createProfile';

export const isCreation = (mutation: Mutation): boolean =>
  isProfileOrRoleCreation(mutation) || mutation.kind === 'createAccessEntry';

/** The IAM permission to change access entries is optional. */
export function isAccessEntryMutation(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'createAccessEntry' | 'deleteAccessEntry' }> {
  return mutation.kind === 'createAccessEntry' || mutation.kind === 'deleteAccessEntry';
}

/** Returns true also for the steps that prepare a role's deletion. */
export function isRoleRemoval(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'deleteRole' | 'detachPolicy' | 'tagRole' | 'deleteAccessEntry' }> {
  return (
    mutation.kind === 'deleteRole' ||
    ((mutation.kind === 'detachPolicy' || mutation.kind === 'tagRole') && mutation.retiring === true) ||
    (mutation.kind === 'deleteAccessEntry' && mutation.because === 'roleDeletion')
  );
}

/**
 * Whether only a survey shows that the mutation is allowed. Each profile of the EKS cluster may count against the
 * creation or deletion of a profile, and each one may use a role.
 */
export const needsSurvey = (mutation: Mutation): boolean =>
  isQueuedMutation(mutation) || isAbout(mutation) === 'role' || isRoleRemoval(mutation);

/** Returns the setting below `spec` through which the mutation may take permissions from pods that use the role. */
export function settingTakenBy({ kind }: Mutation): keyof AWSFargateProfileSpec | undefined {
  switch (kind) {
    case 'detachPolicy':
      return 'roleAdditionalPolicies';
    case 'setBoundary':
    case 'removeBoundary':
      return 'rolePermissionsBoundary';
    default:
      return undefined;
  }
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

export type MutationOutcome =
  | {
      readonly kind: 'done';
      readonly profile?: FargateProfile;
      readonly role?: Role;
    }
  | { readonly kind: 'gone' }
  /**
   * The name is in use by a resource that this reconcile did not find, because EKS and IAM are eventually consistent.
   */
  | { readonly kind: 'nameTaken' }
  /** IAM does not show the existing role yet, or EKS does not see it yet when it creates the access entry. */
  | { readonly kind: 'notVisible' }
  /** The role has changed since this reconcile read it. */
  | { readonly kind: 'outdated'; readonly failure: AwsFailure }
  | { readonly kind: 'clusterGone' }
  /** EKS is making another change in the cluster, to the profile `by`. */
  | { readonly kind: 'siblingBusy'; readonly by: ProfileName; readonly doing: string }
  /** An update of the cluster is in progress, or the cluster is not ACTIVE. */
  | { readonly kind: 'clusterUpdating'; readonly failure: AwsFailure }
  /** The role's trust policy is wrong, or the role is too new for EKS to see it. */
  | { readonly kind: 'roleRejected'; readonly failure: AwsFailure }
  | { readonly kind: 'failed'; readonly failure: AwsFailure };

/** Reports whether AWS has certainly not made the change. A lost answer or a 5xx response does not show that. */
export function isWithoutEffect(outcome: MutationOutcome): boolean {
  switch (outcome.kind) {
    case 'siblingBusy':
    case 'clusterUpdating':
    case 'roleRejected':
      return true;
    case 'failed': {
      const { code, statusCode = 0 } = outcome.failure;
      // A 4xx response that is not from AWS proves nothing: a proxy may have forwarded the request before it failed.
      const isRefused = code !== 'Undecodable' && statusCode >= 400 && statusCode < 500;
      return isRefused || isNotDispatched(outcome.failure) || isNotPrepared(outcome.failure);
    }
    default:
      return false;
  }
}

export interface Step {
  readonly mutation: Mutation;
  readonly outcome: MutationOutcome;
  readonly drained?: Drained;
}

/** How a drain ended. */
export interface Drained {
  readonly because: 'moved' | 'timeout' | DrainObstacle;
  readonly successor: string;
  /** The pods that EKS stops when it deletes the profile. `undefined` if unknown, for example because of `problem`. */
  readonly stopped?: {
    readonly count: number;
    /** How many of these pods the drain should have moved, but has not moved. */
    readonly unmoved: number;
    /** The first of these pods, as `<namespace>/<name>`. */
    readonly names: readonly string[];
  };
  readonly problem?: string;
}
