import * as E from 'fp-ts/lib/Either.js';
import { type ProfileName, RoleName } from '../../../api/names.ts';
import type {
  AwsFailure,
  FargateProfile,
  FargateProfiles,
  ProfileLookup,
  PodExecutionRoles,
} from '../../../pkg/cloud/index.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { findRoleNameProblem, isSameRoleName, roleNameFor } from '../../../pkg/fargate/names.ts';
import { isEntryOf, managedRolesIn, roleEntryOf } from '../../shared/record.ts';
import { isRoleComputed, profileNameOf, roleNameOf, rolePathOf } from '../../shared/profile-names.ts';
import type { ObjectIdentity } from '../model/desired-state.ts';
import { hasChangeInProgress } from '../model/at-rest.ts';
import {
  type FoundRole,
  type Looking,
  type Observed,
  type ObservedRole,
  type ProfilesAndRoles,
  mayFitSpec,
} from '../model/observed-state.ts';
import { oursOf } from '../model/owner.ts';
import { ACTIVE, isGoing, isInTransit } from '../model/profile-status.ts';

export interface AwsReader {
  readonly profiles: Pick<FargateProfiles, 'describe' | 'list'>;
  readonly roles: Pick<PodExecutionRoles, 'get' | 'attachedPolicies' | 'inlinePolicies' | 'instanceProfiles'>;
}

type Read<A> = Promise<E.Either<AwsFailure, A>>;

/**
 * Reads only the recorded profiles (a glance) if that is enough, else all profiles of the EKS cluster (a survey). A
 * survey is always made if one is due, if no profile is recorded, and for a deletion while EKS changes no profile.
 */
export async function look(reader: AwsReader, looking: Looking, isSurveyDue: boolean): Read<ProfilesAndRoles> {
  const { object, record } = looking;
  const isExpected = looking.isLeaving ? hasChangeInProgress(object) : record.deleting !== true;
  const mayGlance = isExpected && record.profiles.length > 0 && !isSurveyDue;
  const seen = mayGlance ? await glance(reader, looking) : E.right(undefined);
  if (E.isLeft(seen)) return seen;
  return seen.right === undefined ? survey(reader, looking) : E.right(seen.right);
}

/**
 * A cheap check that reads only the recorded profiles and their roles. Returns `undefined` unless they show that
 * nothing has to change (the only profile is ACTIVE and matches the spec, with the recorded role), or that EKS is still
 * making a change.
 */
export async function glance(reader: AwsReader, looking: Looking): Read<ProfilesAndRoles | undefined> {
  const { identity, record } = looking;
  const described = await describeAll(
    reader,
    identity,
    record.profiles.map(({ name }) => name),
  );
  if (E.isLeft(described)) return described;
  const { cluster, profiles } = described.right;
  const ours = oursOf(looking, profiles);
  const isKnown = (profile: FargateProfile): boolean => ours.includes(profile) && isEntryOf(record.profiles, profile);
  if (cluster === 'gone' || profiles.length !== record.profiles.length || !profiles.every(isKnown))
    return E.right(undefined);
  const names = roleNames(looking, profiles);
  const isServing = (profile: FargateProfile): boolean => servesAsAsked(looking, profile);
  if (profiles.some(isInTransit) && !profiles.some(isServing))
    return E.right({ depth: 'glance', cluster, profiles, roles: unread(names) });
  // While EKS changes a predecessor of the serving profile, the reconcile continues, and needs the roles.
  const [profile, ...others] = profiles.filter((each) => !isInTransit(each));
  if (profile === undefined || others.length > 0 || !isServing(profile)) return E.right(undefined);
  const isAlone = profiles.length === 1;
  if (isAlone && !hasOnlyItsRole(looking, profile)) return E.right(undefined);
  const roles = await readRoles(reader, looking, profiles, isAlone ? [roleOf(profile)] : names);
  if (E.isLeft(roles)) return roles;
  const isRoleKnown = roles.right.every(({ found }) => isRecordedRole(looking, found));
  return E.right(isRoleKnown ? { depth: 'glance', cluster, profiles, roles: roles.right } : undefined);
}

/** Reads all profiles of the EKS cluster, and the roles in the spec, in the record, and of this object's profiles. */
export async function survey(reader: AwsReader, looking: Looking): Read<ProfilesAndRoles> {
  const { identity } = looking;
  const listing = await reader.profiles.list(identity.eksCluster);
  if (E.isLeft(listing)) return listing;
  const names = listing.right.kind === 'listed' ? listing.right.names : [];
  const described = await describeAll(reader, identity, names);
  if (E.isLeft(described)) return described;
  const cluster = listing.right.kind === 'clusterGone' ? 'gone' : described.right.cluster;
  const profiles = cluster === 'gone' ? [] : described.right.profiles;
  const roles = await readRoles(reader, looking, profiles, roleNames(looking, profiles));
  return E.map((all: readonly ObservedRole[]): ProfilesAndRoles => ({
    depth: 'survey',
    cluster,
    profiles,
    roles: all,
  }))(roles);
}

type Described = Pick<Observed, 'cluster' | 'profiles'>;

async function describeAll(
  { profiles }: AwsReader,
  { eksCluster }: ObjectIdentity,
  names: readonly ProfileName[],
): Read<Described> {
  const lookups = await allOf(names.map((name) => profiles.describe(eksCluster, name)));
  return E.map((all: readonly ProfileLookup[]): Described => ({
    cluster: all.some(({ kind }) => kind === 'clusterGone') ? 'gone' : 'there',
    profiles: all.flatMap((lookup) => (lookup.kind === 'found' ? [lookup.profile] : [])),
  }))(lookups);
}

/** Waits for all calls. Returns the first failure in their order, or else all results. */
const allOf = async <A>(calls: readonly Read<A>[]): Read<readonly A[]> => E.sequenceArray(await Promise.all(calls));

const roleOf = ({ podExecutionRoleArn }: FargateProfile): RoleName =>
  parseRoleArn(podExecutionRoleArn)?.name ?? RoleName.of('');

const unread = (names: readonly RoleName[]): readonly ObservedRole[] =>
  names.map((name) => ({ name, found: 'unread' }));

export const servesAsAsked = (looking: Looking, profile: FargateProfile): boolean =>
  profile.status === ACTIVE && mayFitSpec(looking, profile);

const hasOnlyItsRole = ({ record }: Looking, profile: FargateProfile): boolean =>
  record.roles.every(({ name }) => isSameRoleName(name, roleOf(profile)));

function isRecordedRole({ record, object }: Looking, found: ObservedRole['found']): boolean {
  if (found === undefined || found === 'unread') return false;
  const entry = roleEntryOf(record, found.name);
  const hasSamePath =
    object.spec.roleARN !== undefined || entry?.managed === false || rolePathOf(object) === found.path;
  return entry?.id === found.id && hasSamePath;
}

/** Returns the names of the roles to read. Omits names that AWS would reject: no resource can have them. */
function roleNames(looking: Looking, profiles: readonly FargateProfile[]): readonly RoleName[] {
  const { object, identity, record, isLeaving } = looking;
  const { roleARN } = object.spec;
  // The record alone is no reason to read another owner's role: the role matters only while the spec names it, and AWS
  // may not allow this controller to read its policies.
  const recorded = managedRolesIn(record).map(({ name }) => name);
  const inUse = oursOf(looking, profiles).map(roleOf);
  // If a client removed spec.profileName, the role's name may derive from the computed profile name. Without a recorded
  // role, Cluster API Provider AWS may have created the role under any of its names.
  const ofDeletion =
    isLeaving && isRoleComputed(object) && recorded.length === 0
      ? [roleNameFor(identity.clusterName ?? identity.eksCluster, profileNameOf(object)), ...identity.capaRoleNames]
      : [];
  const named = roleARN === undefined ? roleNameOf(object) : isLeaving ? undefined : parseRoleArn(roleARN)?.name;
  return distinct([named, ...inUse, ...recorded, ...ofDeletion]);
}

/** IAM ignores case in names. */
const distinct = (names: readonly (RoleName | undefined)[]): readonly RoleName[] =>
  names.flatMap((name, index) =>
    name === undefined ||
    findRoleNameProblem(name) !== undefined ||
    names.findIndex((each) => isSameRoleName(each, name)) < index
      ? []
      : [name],
  );

/** Leaves roles unread while EKS changes the object's only profile, and until a deletion has deleted the profiles. */
async function readRoles(
  reader: AwsReader,
  looking: Looking,
  profiles: readonly FargateProfile[],
  names: readonly RoleName[],
): Read<readonly ObservedRole[]> {
  const ours = oursOf(looking, profiles);
  const isTransit = ours.some(isInTransit) && !ours.some(({ status }) => status === ACTIVE);
  if (isTransit || (looking.isLeaving && ours.length > 0)) return E.right(unread(names));
  return allOf(names.map((name) => readRole(reader, looking, profiles, name)));
}

async function readRole(
  reader: AwsReader,
  looking: Looking,
  profiles: readonly FargateProfile[],
  name: RoleName,
): Read<ObservedRole> {
  const { object, record, isLeaving } = looking;
  const isUserProvided = parseRoleArn(object.spec.roleARN ?? '')?.name === name;
  const isUnused = !profiles.some((profile) => !isGoing(profile) && isSameRoleName(roleOf(profile), name));
  // If the spec names no role, EKS cannot change the role of this object's profiles, so an unused role is unwanted.
  const hasAnother = isRoleComputed(object) && oursOf(looking, profiles).some((each) => !isGoing(each));
  const isWanted = !isLeaving && !hasAnother && isSameRoleName(roleNameOf(object), name);
  const isUnwanted = isUnused && !isUserProvided && !isWanted;
  // IAM refuses to list the policies of a role that does not exist. So they are read at the same time as the role only
  // if the record contains the role's ID, which shows that the role has existed.
  const wasSeen = roleEntryOf(record, name)?.id !== undefined;
  const [role, early] = await Promise.all([
    reader.roles.get(name),
    wasSeen ? readAttachments(reader, name, { isUserProvided, isUnwanted }) : undefined,
  ]);
  if (E.isLeft(role)) return role;
  const found = role.right;
  if (found === undefined) return E.right({ name, found });
  const hasOtherPath = isUnused && !isUserProvided && found.path !== rolePathOf(object);
  const mayGo = isUnwanted || hasOtherPath;
  const attachments =
    early !== undefined && mayGo === isUnwanted
      ? early
      : await readAttachments(reader, name, { isUserProvided, isUnwanted: mayGo });
  return E.isLeft(attachments) ? attachments : E.right({ name, found: { ...found, ...attachments.right } });
}

type RoleAttachments = Pick<FoundRole, 'attached' | 'blockers'>;

/** IAM does not delete a role that has inline policies or instance profiles, so these are read for unwanted roles. */
async function readAttachments(
  { roles }: AwsReader,
  name: RoleName,
  { isUserProvided, isUnwanted }: { readonly isUserProvided: boolean; readonly isUnwanted: boolean },
): Read<RoleAttachments> {
  const lists = await allOf([
    isUserProvided ? NOTHING : roles.attachedPolicies(name),
    isUnwanted ? roles.inlinePolicies(name) : NOTHING,
    isUnwanted ? roles.instanceProfiles(name) : NOTHING,
  ]);
  if (E.isLeft(lists)) return lists;
  const [attached = [], inline = [], instanceProfiles = []] = lists.right;
  const blockers = [
    ...inline.map((policy) => `the inline policy "${policy}"`),
    ...instanceProfiles.map((profile) => `the instance profile "${profile}"`),
  ];
  return E.right({ attached, blockers });
}

const NOTHING: Read<readonly string[]> = Promise.resolve(E.right([]));
