import { ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import { REMEDY } from '../served-schema.ts';
import { CREDENTIAL_REASONS } from './credential-reasons.ts';
import type { Entry, Nature, Part, SiblingNews, Words } from './reason-entry.ts';
import { MINUTE, SECOND, described, doubling, every, following, growing, slowly, watched } from './reason-entry.ts';

export type { Nature, Part, SiblingNews } from './reason-entry.ts';
export { PATIENCE } from './reason-entry.ts';

const eks = { part: 'EKSFargateProfileReady' } as const;
const iam = { part: 'IAMFargateRolesReady' } as const;

const quoted = (text: string): string => `"${text}"`;
/** The first few say it. */
const enumerated = (names: readonly string[]): string =>
  names.length <= 3 ? listed(names) : `${listed(names.slice(0, 3))} and ${names.length - 3} more`;
const listed = (texts: readonly string[]): string => texts.join(', ');

type Named = { readonly name: string };
/** What AWS said to a call; `about` is the part of the work that the call belongs to. */
type Said = { readonly words: string; readonly about?: Part };

/** A health issue of EKS in one readable piece. */
export type Issue = { readonly code: string; readonly message: string; readonly resourceIds: readonly string[] };

const issueWords = (issues: readonly Issue[]): string =>
  issues.length === 0
    ? 'EKS gives no reason'
    : issues
        .map(({ code, message, resourceIds }) =>
          resourceIds.length === 0 ? `${code}: ${message}` : `${code}: ${message} (${listed(resourceIds)})`,
        )
        .join('; ');

/**
 * Each reason why an object is not, or not yet, what its spec says: the one table that conditions, requeues, documents
 * and tests read. The key is the condition's `reason`.
 */
export const REASONS = {
  // Before AWS is asked.
  WaitingForCluster: described<{ readonly cluster: string }>({
    nature: 'wait',
    poll: watched,
    words: ({ cluster }) => `Cluster ${cluster} does not exist yet`,
  }),
  WaitingForAPI: described<{ readonly kind: string; readonly why: string }>({
    nature: 'outage',
    poll: every(30 * SECOND),
    words: ({ kind, why }) => `${kind} objects cannot be read: ${why}`,
  }),
  ClusterDeleting: described<{ readonly cluster: string }>({
    nature: 'wait',
    poll: watched,
    words: ({ cluster }) => `Cluster ${cluster} is being deleted: no Fargate profile is created for it`,
  }),
  WaitingForEKSControlPlane: described<Words>({
    nature: 'wait',
    ...eks,
    poll: watched,
    words: ({ words }) => words,
  }),
  GuardRefused: described<{ readonly controlPlane: string; readonly why: string }>({
    nature: 'wait',
    poll: every(10 * SECOND),
    words: ({ controlPlane, why: refusal }) =>
      `AWSManagedControlPlane ${controlPlane} does not take the finalizer that keeps it until this profile is gone, so nothing is created: ${refusal}`,
  }),
  /** `remaining`: how long nothing is changed. */
  ClusterVanished: described<{ readonly cluster: string; readonly remaining: Ms }>({
    nature: 'wait',
    poll: (_waited, { remaining }) => Math.max(remaining, SECOND / 2),
    words: ({ cluster }) =>
      `Cluster ${cluster} has vanished; in case it is being moved, nothing is changed in AWS for half a minute`,
  }),
  RetainBlocksClusterDeletion: described<Named & { readonly cluster: string }>({
    nature: 'human',
    // A whole cluster waits for it.
    poll: doubling(15 * SECOND, 2 * MINUTE),
    words: ({ name, cluster }) =>
      `the cluster is being deleted, and EKS cannot delete cluster ${quoted(cluster)} while it has Fargate profile ${quoted(name)}, which deletionPolicy Retain keeps`,
    cure: () =>
      "Set spec.deletionPolicy to Delete to have the profile deleted; or delete the profile in AWS; or remove this object's finalizer to abandon the profile",
  }),
  ForeignSchema: described<{ readonly provider?: string | undefined; readonly missing: readonly string[] }>({
    nature: 'human',
    poll: every(15 * SECOND),
    words: ({ provider = 'somebody else', missing }) =>
      `the API server serves AWSFargateProfiles with the CRD of ${provider}, which does not know ${enumerated(missing)}: what is read here is not what was written, so nothing is changed in AWS`,
    cure: () => `${REMEDY}; it goes on by itself`,
  }),
  ControlPlaneUnsupported: described<{ readonly cluster: string; readonly kind: string }>({
    nature: 'human',
    poll: watched,
    words: ({ cluster, kind }) =>
      `the control plane of Cluster ${cluster} is of kind ${kind}: Fargate profiles need an AWSManagedControlPlane`,
    cure: () => 'Point spec.clusterName to a Cluster whose controlPlaneRef names an AWSManagedControlPlane',
  }),
  TargetChanged: described<{ readonly field: string; readonly recorded: string; readonly found: string }>({
    nature: 'human',
    poll: watched,
    words: ({ field, recorded, found }) =>
      `the control plane now names ${field} ${quoted(found)}, but this object was provisioned in ${quoted(recorded)}: nothing is changed in AWS`,
    cure: ({ field, recorded }) =>
      `Set ${field} of the control plane back to ${quoted(recorded)}, or delete this object, which deletes the profile where it was provisioned`,
  }),
  TargetUnknown: described<{ readonly cluster: string }>({
    nature: 'human',
    poll: watched,
    words: ({ cluster }) =>
      `status does not say in which account and region the profile is, and Cluster ${cluster} is not there to tell`,
    cure: () =>
      'Restore the Cluster and its control plane; or, when nothing is left in AWS, set spec.deletionPolicy to Retain to let the object go',
  }),
  InvalidSpec: described<Words>({
    nature: 'human',
    poll: watched,
    words: ({ words }) => words,
  }),
  TagsInvalid: described<Words>({
    nature: 'human',
    poll: watched,
    words: ({ words }) => `AWS would refuse the tags: ${words}`,
    cure: () => 'Correct additionalTags of this object or of its control plane',
  }),
  NoPrivateSubnets: described<{ readonly controlPlane: string }>({
    nature: 'human',
    ...eks,
    poll: watched,
    words: ({ controlPlane }) =>
      `no subnet is named and AWSManagedControlPlane ${controlPlane} lists no private one: Fargate runs in private subnets only`,
    cure: () => "Name private subnets in spec.subnetIDs, or add them to the control plane's spec.network.subnets",
  }),

  ...CREDENTIAL_REASONS,

  // What AWS says to any call.
  AccessDenied: described<Said>({
    nature: 'human',
    poll: slowly,
    words: ({ words }) => `AWS denies the request: ${words}`,
    cure: () => 'Allow the action in the IAM policy of the credentials in use',
  }),
  AWSUnavailable: described<Said>({
    nature: 'outage',
    poll: doubling(2 * SECOND, MINUTE),
    words: ({ words }) => `AWS gives no usable answer: ${words}`,
  }),
  AWSError: described<Said>({
    nature: 'retry',
    poll: doubling(5 * SECOND, 5 * MINUTE),
    words: ({ words }) => `AWS answers with an error: ${words}`,
  }),
  Refused: described<Said>({
    nature: 'human',
    poll: slowly,
    words: ({ words }) => `AWS refused the request: ${words}`,
    cure: () => 'Correct the spec, or what it names in AWS; it is tried again by itself',
  }),
  AWSQuotaExceeded: described<Said>({
    nature: 'human',
    poll: slowly,
    words: ({ words }) => `AWS allows no more of this in the account: ${words}`,
    cure: () => 'Delete what is not needed, or ask AWS to raise the quota; it is tried again by itself',
  }),
  EKSClusterNotFound: described<{ readonly cluster: string; readonly region: string }>({
    nature: 'human',
    ...eks,
    poll: doubling(15 * SECOND, 5 * MINUTE),
    words: ({ cluster, region }) => `there is no EKS cluster ${quoted(cluster)} in ${region}`,
    cure: () => "Create the cluster, or correct the control plane's spec.eksClusterName and spec.region",
  }),

  // The role.
  RoleNotOwned: described<Named & { readonly whose: string }>({
    nature: 'human',
    ...iam,
    poll: slowly,
    words: ({ name, whose }) => `IAM role ${quoted(name)} exists already and belongs to ${whose}. It is left untouched`,
    cure: () => 'Name it in spec.roleARN to use it as it is, or choose another spec.roleName',
  }),
  RoleNotFound: described<Named>({
    nature: 'human',
    ...iam,
    poll: slowly,
    words: ({ name }) => `IAM role ${quoted(name)} does not exist, and it was not made by this controller`,
    cure: () => 'Create the role, or correct spec.roleARN or spec.roleName',
  }),
  RoleTrustInvalid: described<Named & { readonly problem: string }>({
    nature: 'human',
    ...iam,
    poll: slowly,
    words: ({ name, problem }) =>
      `the trust policy of IAM role ${quoted(name)} does not let EKS Fargate assume it: ${problem}`,
    cure: () => "Correct the role's trust policy; it is read again by itself",
  }),
  RoleSettingsConflict: described<Named & { readonly other: string; readonly settings: readonly string[] }>({
    nature: 'human',
    ...iam,
    poll: watched,
    endedBySibling: 'changed',
    words: ({ name, other, settings }) =>
      `IAM role ${quoted(name)} is shared with ${other}, which has ${listed(settings)} otherwise`,
    cure: () => 'Give both objects the same role settings, or this one a role of its own',
  }),
  RoleRecreated: described<Named & { readonly arn: string; readonly id: string; readonly cluster: string }>({
    nature: 'human',
    ...iam,
    poll: slowly,
    words: ({ name, id }) =>
      `IAM role ${quoted(name)} was deleted by somebody and has been made anew as ${id}: the cluster's access entry is bound to the former one, so pods of this profile cannot start`,
    cure: ({ arn, id, cluster }) =>
      `Delete the access entry of ${arn} in EKS cluster ${cluster} and create it again with type FARGATE_LINUX, then set the annotation ${ACCESS_ENTRY_RENEWED_ANNOTATION}=${id} on this object`,
  }),
  RoleBlocked: described<Named & { readonly blockers: readonly string[] }>({
    nature: 'human',
    ...iam,
    poll: slowly,
    words: ({ name, blockers }) => `IAM role ${quoted(name)} cannot be deleted while it has ${listed(blockers)}`,
    cure: () => 'Remove them from the role; the deletion goes on by itself',
  }),
  Propagating: described<{ readonly what: string }>({
    nature: 'wait',
    poll: growing,
    words: ({ what }) => `waiting until AWS has spread ${what} to all its parts`,
  }),

  // The profile.
  /** `obstacles`: why spec.adoptionPolicy Always does not take it over, where that is what it is to do. */
  ProfileNotOwned: described<Named & { readonly whose: string; readonly obstacles?: readonly string[] }>({
    nature: 'human',
    ...eks,
    poll: slowly,
    endedBySibling: 'gone',
    words: ({ name, whose, obstacles }) =>
      `Fargate profile ${quoted(name)} exists already and belongs to ${whose}. It is left untouched` +
      (obstacles === undefined ? '' : `, since it is not what the spec wants: ${obstacles.join('; ')}`),
    cure: ({ obstacles }) =>
      obstacles === undefined
        ? 'Choose another spec.profileName, or set spec.adoptionPolicy to Always if it has no owner and is to be taken over'
        : 'Choose another spec.profileName, or make the spec match the profile, which is then taken over',
  }),
  SpecDiffers: described<Named & { readonly fields: readonly string[] }>({
    nature: 'human',
    ...eks,
    poll: slowly,
    words: ({ name, fields }) =>
      `Fargate profile ${quoted(name)} differs from the spec in what EKS cannot change: ${fields.join('; ')}`,
    cure: () => 'Make the spec match the profile, or delete this object and create it anew',
  }),
  WaitingForSibling: described<{ readonly ahead: string; readonly doing: string; readonly foreign: boolean }>({
    nature: 'wait',
    ...eks,
    // One of ours wakes the next when it has ended; whoever else's it is has to be looked at.
    poll: (_waited, { foreign }) => (foreign ? 5 * SECOND : 30 * SECOND),
    words: ({ ahead, doing }) =>
      `EKS changes one Fargate profile of a cluster at a time; ahead of this one: ${quoted(ahead)} (${doing})`,
  }),
  /** `remaining`: how long nothing is tried. */
  ClusterUpdating: described<{ readonly cluster: string; readonly remaining: Ms }>({
    nature: 'wait',
    ...eks,
    poll: (_waited, { remaining }) => Math.max(remaining, SECOND / 2),
    words: ({ cluster }) =>
      `EKS has an update of cluster ${quoted(cluster)} in progress and takes no other change until it is done`,
  }),
  QuotaExceeded: described<Words>({
    nature: 'wait',
    ...eks,
    poll: doubling(30 * SECOND, 5 * MINUTE),
    endedBySibling: 'gone',
    words: ({ words }) =>
      `EKS allows no more Fargate profiles in this cluster (${words}): delete one, or ask AWS to raise the quota`,
  }),
  Creating: described<Named>({
    nature: 'wait',
    ...eks,
    poll: following,
    words: ({ name }) => `EKS is creating Fargate profile ${quoted(name)}`,
  }),
  DeletingProfile: described<Named>({
    nature: 'wait',
    ...eks,
    poll: following,
    words: ({ name }) => `EKS is deleting Fargate profile ${quoted(name)}`,
  }),
  WaitingForCreate: described<Named>({
    nature: 'wait',
    ...eks,
    poll: following,
    words: ({ name }) =>
      `Fargate profile ${quoted(name)} is still being created; EKS deletes it only once that has ended`,
  }),
  CreateFailed: described<Named & { readonly issues: readonly Issue[] }>({
    nature: 'retry',
    ...eks,
    poll: doubling(10 * SECOND, 10 * MINUTE),
    words: ({ name, issues }) => `EKS failed to create Fargate profile ${quoted(name)}: ${issueWords(issues)}`,
    cure: () => 'Correct what EKS names; the profile is made anew by itself',
  }),
  DeleteFailed: described<Named & { readonly issues: readonly Issue[] }>({
    nature: 'retry',
    ...eks,
    poll: doubling(10 * SECOND, 10 * MINUTE),
    words: ({ name, issues }) => `EKS failed to delete Fargate profile ${quoted(name)}: ${issueWords(issues)}`,
    cure: () => 'Correct what EKS names; the deletion is tried again by itself',
  }),
  UnknownProfileStatus: described<Named & { readonly status: string }>({
    nature: 'wait',
    ...eks,
    poll: following,
    words: ({ name, status }) =>
      `EKS gives Fargate profile ${quoted(name)} the status ${status}, which this version does not know`,
  }),
} as const;

export type Reason = keyof typeof REASONS;
/** What each reason is told with. */
export type Facts = { readonly [R in Reason]: (typeof REASONS)[R] extends Entry<infer F> ? F : never };
const TABLE: { readonly [R in Reason]: Entry<Facts[R]> } = REASONS;

/** A reason with its facts: why a pass ended before everything was as desired. */
export type Why<R extends Reason = Reason> = { readonly [K in R]: { readonly reason: K; readonly facts: Facts[K] } }[R];

export const why = <R extends Reason>(reason: R, facts: Facts[R]): Why<R> => ({ reason, facts });

export const natureOf = ({ reason }: Why): Nature => TABLE[reason].nature;

/** Whether what a sibling has done may have ended it. */
export const isEndedBySibling = (reason: Reason, news: SiblingNews): boolean => {
  const { endedBySibling } = TABLE[reason];
  return endedBySibling !== undefined && (news === 'gone' || endedBySibling === 'changed');
};

export const partOf = ({ reason, facts }: Why): Part | undefined =>
  TABLE[reason].part ?? ('about' in facts ? facts.about : undefined);

/** How long until an object that has waited for `waited` looks for itself; `usual`: how long the last one took in all. */
export const pollOf = <R extends Reason>({ reason, facts }: Why<R>, waited: Ms, usual?: Ms): Ms =>
  TABLE[reason].poll(waited, facts, usual);

/** What a user reads: what is the matter, and what to do about it. */
export function messageOf<R extends Reason>({ reason, facts }: Why<R>): string {
  const { words, cure } = TABLE[reason];
  const matter = capitalised(words(facts));
  return cure === undefined ? matter : `${matter}. ${cure(facts)}.`;
}

/** A sentence that begins with the name of a field keeps that name as it is. */
const capitalised = (text: string): string =>
  /^[a-z]+[ ,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
