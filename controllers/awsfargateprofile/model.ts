import type { ClusterName, EksClusterName, ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import type { AdoptionPolicy } from '../../api/v1beta2/index.ts';
import { isNotDispatched } from '../../pkg/cloud/errors.ts';
import type { AwsFailure } from '../../pkg/cloud/failure.ts';
import type { FargateProfile, IdentityRef, NewFargateProfile, NewRole, Role, Selector } from '../../pkg/cloud/types.ts';
import type { Place } from '../../pkg/fargate/arns.ts';
import type { Tags } from '../../pkg/fargate/tags.ts';
import type { ObjectKey } from '../../pkg/kube/types.ts';
import type { Why } from './reasons.ts';
import type { Whereabouts } from './whereabouts.ts';

/** Where in AWS an object lives. The account is known once its credentials are. */
export interface Target {
  readonly clusterName: ClusterName;
  readonly eksCluster: EksClusterName;
  readonly region: string;
  readonly identity: IdentityRef | undefined;
}

/** What the control plane contributes to what is wanted. */
export interface Surroundings {
  readonly controlPlaneTags: Tags;
  /** AWS ids of the control plane's private subnets. */
  readonly privateSubnets: readonly string[];
  readonly controlPlane: ObjectKey;
  /** Why nothing may be created right now; what exists is looked after all the same. */
  readonly noCreation: Why | undefined;
}

/** What is to become of an object, from Kubernetes alone. */
export type Goal =
  /** Nothing is ours here: no finalizer on a deleted object, or an object that clusterctl is moving away. */
  | { readonly kind: 'ignore' }
  /** `by`: in the words of Cluster API's `Paused` condition. */
  | { readonly kind: 'paused'; readonly by: readonly string[] }
  | { readonly kind: 'hold'; readonly why: Why }
  /** Let the object go without a call to AWS: nothing was begun there, or what is there is to stay. */
  | { readonly kind: 'release' }
  /** It was being deleted when it was moved here, which a move forgets: it is deleted again. */
  | { readonly kind: 'resumeDeletion' }
  /**
   * `surroundings` is absent where nothing is wanted: a deletion does without the control plane. `surplus`: what becomes
   * of that which is ours and unwanted. `releasable`: a deletion that `deletionPolicy: Retain` would turn into `release`.
   */
  | {
      readonly kind: 'pursue';
      readonly target: Target;
      readonly surroundings: Surroundings | undefined;
      readonly surplus: Surplus;
      readonly releasable?: boolean;
    };

/** `retain` deletes nothing: it only looks whether the profile is still there, and in the way of its cluster's deletion. */
export type Surplus = 'delete' | 'retain';

/** Whose we are: what ownership tags are compared with. */
export interface Owner {
  readonly namespace: string;
  readonly name: string;
  readonly clusterName: ClusterName;
  readonly eksCluster: EksClusterName;
  readonly eksClusterArn: string;
  /** The name that this object's profile has. */
  readonly profileName: ProfileName;
  /** Each name that Cluster API Provider AWS can have given to this object's role. */
  readonly namesOfCapa: readonly RoleName[];
}

export interface WantedProfile {
  readonly name: ProfileName;
  readonly subnets: readonly string[];
  readonly selectors: readonly Selector[];
  readonly tags: Tags;
}

/** A role that this controller makes and keeps in order. */
export interface ManagedRole extends NewRole {
  readonly kind: 'managed';
  readonly arn: RoleArn;
  /** ARNs: the pod execution policy, then the additional ones. */
  readonly policies: readonly string[];
  /** Named in spec.roleName: then a foreign role of that name is used as it is, instead of refused. */
  readonly named: boolean;
}

/** Somebody else's role, from spec.roleARN: used as it is, never touched. */
export interface ExistingRole {
  readonly kind: 'existing';
  readonly name: RoleName;
  readonly arn: RoleArn;
}

export type WantedRole = ManagedRole | ExistingRole;

/** What earlier passes wrote down in status. A hint that explains what is found, never authority over it. */
export interface Records {
  readonly profileName: ProfileName | undefined;
  readonly roleName: RoleName | undefined;
  /** Whether the recorded role is one that this controller made. */
  readonly roleManaged: boolean | undefined;
  /** IAM's unique id of the role that the profile was made with. */
  readonly roleId: string | undefined;
  /** The id of a role made anew for which a human has renewed the access entry. */
  readonly renewedFor: string | undefined;
  readonly attachedPolicies: readonly string[];
  readonly tagKeys: readonly string[];
  /** The profile was ACTIVE exactly as wanted once: from then on it is never deleted for being different. */
  readonly provisioned: boolean;
  /** A create was asked for, so a differing profile that was never provisioned is our own unfinished one. */
  readonly createRequested: boolean;
  /** What the object says of where it is in AWS. */
  readonly whereabouts: Whereabouts['kind'];
  /** A create was sent so recently, with its answer never seen, that "not found" does not prove absence yet. */
  readonly createUnseen: boolean;
}

export interface Desired {
  readonly owner: Owner;
  /** Absent: no profile, and no role, is wanted. */
  readonly wanted: { readonly profile: WantedProfile; readonly role: WantedRole } | undefined;
  readonly surplus: Surplus;
  readonly adopt: AdoptionPolicy;
  readonly records: Records;
  readonly noCreation: Why | undefined;
  /** An older object wants a role of ours of that name otherwise. Somebody else's serves both as it is. */
  readonly conflict?: Why;
  readonly place: Place;
  /** Whose state counts: each name that is wanted, recorded or computed. */
  readonly names: { readonly profiles: readonly ProfileName[]; readonly roles: readonly RoleName[] };
}

export interface ObservedProfile {
  readonly name: ProfileName;
  readonly found: FargateProfile | undefined;
}

export interface ObservedRole {
  readonly name: RoleName;
  /** `unread`: nobody has looked, since a profile goes first whatever the role is. Absent is not unknown. */
  readonly found: FoundRole | 'unread' | undefined;
}

export interface FoundRole extends Role {
  /** ARNs of attached managed policies. */
  readonly attached: readonly string[];
  /** What stands in the way of its deletion, in words; read only where nothing is wanted. */
  readonly blockers: readonly string[];
  /** Not to be deleted: why not, in words. Found out right before the deletion. */
  readonly keep?: string;
}

/** Each profile and role whose name is desired or recorded, as AWS says it is now. */
export interface Observed {
  readonly cluster: 'there' | 'gone';
  readonly profiles: readonly ObservedProfile[];
  readonly roles: readonly ObservedRole[];
  /** How the cluster knows its roles; read only where a role was made anew under a living profile. */
  readonly authenticationMode?: string;
}

/** One call that changes AWS. */
export type Mutation =
  | { readonly kind: 'createProfile'; readonly profile: NewFargateProfile }
  | {
      readonly kind: 'deleteProfile';
      readonly name: ProfileName;
      readonly because: 'unwanted' | 'failed' | 'different';
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
  /** `retiring`: on the way to the role's deletion, which must not happen to a role that something else uses. */
  | {
      readonly kind: 'detachPolicy';
      readonly name: RoleName;
      readonly policyArn: string;
      readonly retiring: boolean;
    }
  | { readonly kind: 'tagRole'; readonly name: RoleName; readonly tags: Tags }
  | { readonly kind: 'untagRole'; readonly name: RoleName; readonly keys: readonly string[] };

export type Decision =
  | { readonly kind: 'do'; readonly mutation: Mutation }
  | { readonly kind: 'stop'; readonly why: Why }
  /** It depends on a role that was not looked at. */
  | { readonly kind: 'lookAgain' }
  | { readonly kind: 'settled' };

/** What one question has to say on the next step; `undefined`: nothing stands in the way of the next question. */
export type Answer = Decision | undefined;

/** What AWS answered to a mutation. */
export type Outcome =
  | { readonly kind: 'done'; readonly profile?: FargateProfile; readonly role?: Role }
  /** What was to be deleted is not there any more. */
  | { readonly kind: 'vanished' }
  /** The name is taken though it was not found: AWS's parts do not agree yet. */
  | { readonly kind: 'already' }
  /** What was to be changed is there but cannot be seen yet by the part of AWS that was asked. */
  | { readonly kind: 'notVisible' }
  /** The role is not, or not any more, as it was read. */
  | { readonly kind: 'outdated'; readonly failure: AwsFailure }
  | { readonly kind: 'clusterGone' }
  /** `doing`: EKS's status word of the profile that is ahead. */
  | { readonly kind: 'siblingBusy'; readonly by: ProfileName; readonly doing: string }
  /** Or it is not ACTIVE for another reason. */
  | { readonly kind: 'clusterUpdating' }
  /** EKS does not see the role's trust policy as wanted, or not yet. */
  | { readonly kind: 'rolePropagating'; readonly failure: AwsFailure }
  | { readonly kind: 'failed'; readonly failure: AwsFailure };

/** Whether the answer says that nothing was done. One that never came, or a 500, does not. */
export function isWithoutEffect(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case 'siblingBusy':
    case 'clusterUpdating':
    case 'rolePropagating':
      return true;
    case 'failed': {
      const { code, statusCode = 0 } = outcome.failure;
      // A proxy that gives up may have passed the request on: only AWS itself can say so.
      const isRefused = code !== 'Undecodable' && statusCode >= 400 && statusCode < 500;
      return isRefused || isNotDispatched(outcome.failure);
    }
    default:
      return false;
  }
}

export interface Step {
  readonly mutation: Mutation;
  readonly outcome: Outcome;
}

/** The name of the profile or role that a mutation is about. */
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

/** Mutations that occupy EKS's one place for changes per cluster. Tagging does not. */
export function isLaneMutation(
  mutation: Mutation,
): mutation is Extract<Mutation, { kind: 'createProfile' | 'deleteProfile' }> {
  return mutation.kind === 'createProfile' || mutation.kind === 'deleteProfile';
}

/** Mutations that take something away for good. */
export function isDestructive(mutation: Mutation): boolean {
  return (
    mutation.kind === 'deleteProfile' ||
    mutation.kind === 'deleteRole' ||
    (mutation.kind === 'detachPolicy' && mutation.retiring)
  );
}

export const stop = (why: Why): Decision => ({ kind: 'stop', why });
export const perform = (mutation: Mutation): Decision => ({ kind: 'do', mutation });
