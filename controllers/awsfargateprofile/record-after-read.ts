import type { Ms } from 'controller-runtime/env';
import type { FargateProfile, Role } from '../../pkg/cloud/index.ts';
import { parseRoleArn } from '../../pkg/fargate/arns.ts';
import { isSameRoleName } from '../../pkg/fargate/names.ts';
import { isRoleTaggedByOthers, isTaggedByOthers } from '../../pkg/fargate/ownership.ts';
import {
  type ProfileRecord,
  type RecordedProfile,
  type RecordedRole,
  profileIdOf,
  entryOf,
  isEntryOf,
  roleEntryOf,
} from '../shared/record.ts';
import { findManagedElsewhere } from './managed-elsewhere.ts';
import { type FoundRole, type Looking, type ProfilesAndRoles, foundRoles } from './model/observed-state.ts';
import { isRoleTaggedOurs, oursOf, ownershipOf } from './model/owner.ts';
import { CREATING } from './model/profile-status.ts';

// These functions add and remove entries of the record after a reconcile has read AWS. An entry is removed only if AWS
// shows that the resource does not exist, or that a different resource has its name. A field that AWS omits shows
// neither.

/** How long EKS and IAM may answer "not found" for a resource whose creation they have accepted. */
const CREATE_VISIBILITY: Ms = 60_000;
/**
 * A profile that is created this soon after a create request is that request's result, because EKS takes longer to
 * delete and recreate a profile.
 */
const CREATE_WINDOW: Ms = 120_000;
/** AWS's Date header contains whole seconds. */
const DATE_PRECISION: Ms = 1_000;

/** A create request in the record that AWS has not answered with a profile or role. */
interface OpenRequest {
  /** When this process first saw that the request is unanswered, on the monotonic clock. */
  readonly since: Ms;
  /** AWS has refused the request, but the annotation may still contain it. */
  readonly isRefused?: true;
}

/** By entry. */
export type Unanswered = Readonly<Record<string, OpenRequest>>;

const keyOfEntry = (kind: 'profile' | 'role', { name, requestedAt }: RecordedProfile | RecordedRole): string =>
  `${kind} ${name} ${requestedAt}`;

/**
 * The key for an object that has the finalizer and no record. The lost record may have contained a create request. The
 * first reconcile writes a new record, but keeps this key, because the request may still be unanswered.
 */
const LOST = 'a lost record';

/** Adds `LOST`: status replaces the missing record, but does not show whether a create request is unanswered. */
export const withLostRecord = (known: Unanswered, now: Ms): Unanswered => ({ [LOST]: { since: now }, ...known });

/**
 * Lists the unanswered requests. Their age counts from when this process first saw them, so a wrong clock does not
 * affect it.
 */
export function withUnanswered(
  known: Unanswered,
  { in: location, profiles, roles }: ProfileRecord,
  now: Ms,
): Unanswered {
  const open = [
    ...(location.kind === 'unknown' || known[LOST] !== undefined ? [LOST] : []),
    ...profiles.flatMap((each) => (each.requestedAt === undefined ? [] : [keyOfEntry('profile', each)])),
    ...roles.flatMap((each) => (each.requestedAt === undefined ? [] : [keyOfEntry('role', each)])),
  ];
  return Object.fromEntries(open.map((key) => [key, known[key] ?? { since: now }]));
}

/**
 * Marks requests as refused. The annotation may still contain them, because the API server has not answered, or because
 * another client has changed the object first.
 */
export function withRefusedRequests(known: Unanswered, ahead: ProfileRecord, after: ProfileRecord): Unanswered {
  const open = Object.keys(withUnanswered({}, after, 0));
  const refused = Object.keys(withUnanswered({}, ahead, 0)).filter((key) => !open.includes(key));
  return { ...known, ...Object.fromEntries(refused.map((key) => [key, { since: 0, isRefused: true as const }])) };
}

/**
 * Merges the object's record (`before`) with this process's record (`recorded`): another client may have removed the
 * annotation, or may have restored an old one. If the object has no annotation, `before` comes from status. A user who
 * removes the annotation declares that the roles' access entries are right, so recorded role IDs no longer count.
 */
export function mergeRecords(
  before: ProfileRecord,
  recorded: ProfileRecord | undefined,
  isAnnotated: boolean,
): ProfileRecord {
  if (recorded === undefined) return before;
  const last = Math.max(before.last ?? 0, recorded.last ?? 0);
  const entry = recorded.entry ?? before.entry;
  const roles = isAnnotated ? recorded.roles : recorded.roles.map(({ id: _id, checked: _checked, ...role }) => role);
  return {
    ...before,
    in: before.in.kind === 'known' ? before.in : recorded.in,
    profiles: mergeEntries(before.profiles, recorded.profiles, (a, b) => a.name === b.name),
    roles: mergeEntries(before.roles, roles, (a, b) => isSameRoleName(a.name, b.name)),
    ...(last > 0 && { last }),
    ...(entry !== undefined && { entry }),
  };
}

function mergeEntries<A extends RecordedProfile | RecordedRole>(
  annotation: readonly A[],
  recorded: readonly A[],
  isSameName: (a: A, b: A) => boolean,
): readonly A[] {
  const isSame = (a: A, b: A): boolean =>
    isSameName(a, b) && (a.id === b.id || a.id === undefined || b.id === undefined);
  // Another process may have recorded the ID, or that the profile served, in the annotation.
  const both = recorded.map((known): A => {
    const other = annotation.find((each) => isSame(known, each));
    const isServed = other !== undefined && 'served' in other;
    return { ...known, ...(other?.id !== undefined && { id: other.id }), ...(isServed && { served: true }) };
  });
  return [...both, ...annotation.filter((each) => !recorded.some((known) => isSame(known, each)))];
}

export interface UpdatedRecord {
  readonly record: ProfileRecord;
  /**
   * Profiles with this object's owner tag that another copy of the object has created, or another client has tagged.
   * While there are any, nothing is created or deleted.
   */
  readonly elsewhere: readonly FargateProfile[];
  /** Whether the object has recently lost its record, so that one of its requests may be unanswered. */
  readonly isLost: boolean;
}

/** `unanswered` is what {@link withUnanswered} returns for the record. `now` is on the monotonic clock. */
export function updateRecord(
  looking: Looking,
  seen: ProfilesAndRoles,
  { unanswered, now }: { readonly unanswered: Unanswered; readonly now: Ms },
): UpdatedRecord {
  const record = withoutRefusedRequests(looking.record, unanswered);
  const ours = oursOf(looking, seen.profiles);
  const isYoung = (key: string): boolean => now - (unanswered[key]?.since ?? now) < CREATE_VISIBILITY;
  const isLost = unanswered[LOST] !== undefined && isYoung(LOST);
  const isOpen = (kind: 'profile' | 'role', entry: RecordedProfile | RecordedRole): boolean =>
    entry.requestedAt !== undefined && isYoung(keyOfEntry(kind, entry));
  const kept = record.profiles.flatMap(
    (entry) => updateProfileEntry(looking, seen, entry, isOpen('profile', entry)) ?? [],
  );
  const recorded = ours.filter((profile) => isEntryOf(kept, profile));
  const unrecorded = ours.filter((profile) => !recorded.includes(profile));
  const elsewhere = findManagedElsewhere(looking, { recorded, unrecorded }, isLost);
  const found = unrecorded.filter((profile) => !elsewhere.includes(profile)).map(entryOfFound);
  return {
    record: {
      ...record,
      profiles: [...kept, ...found],
      roles: updateRoleEntries(looking, seen, record.roles, ours, (entry) => isOpen('role', entry)),
    },
    elsewhere,
    isLost,
  };
}

/**
 * Removes the entries of refused requests. Otherwise, a profile that another management cluster creates under the same
 * name at the same time would count as the request's result.
 */
function withoutRefusedRequests(record: ProfileRecord, unanswered: Unanswered): ProfileRecord {
  const isRefused = (kind: 'profile' | 'role', entry: RecordedProfile | RecordedRole): boolean =>
    unanswered[keyOfEntry(kind, entry)]?.isRefused === true;
  return {
    ...record,
    profiles: record.profiles.filter((entry) => !isRefused('profile', entry)),
    roles: record.roles.filter((entry) => !isRefused('role', entry)),
  };
}

/**
 * Returns an entry for a profile that no create request in this record explains. The entry is `served`, so that the
 * profile is never deleted as unfinished.
 */
const entryOfFound = ({ name, arn }: FargateProfile): RecordedProfile => {
  const id = profileIdOf(arn);
  return { name, ...(id !== undefined && { id }), served: true };
};

function updateProfileEntry(
  { identity }: Looking,
  seen: ProfilesAndRoles,
  entry: RecordedProfile,
  isOpen: boolean,
): RecordedProfile | undefined {
  if (seen.cluster === 'gone') return undefined;
  const profile = seen.profiles.find(({ name }) => name === entry.name);
  if (profile === undefined) return seen.depth === 'glance' || isOpen ? entry : undefined;
  if (isTaggedByOthers(profile.tags, identity)) return undefined;
  const { requestedAt: _answered, ...answered } = entry;
  // The entry of a CREATING profile stays unchanged, so that a single later write records that the profile exists and
  // is ACTIVE.
  const known = profile.status === CREATING ? entry : answered;
  const id = profileIdOf(profile.arn);
  if (entry.id !== undefined) return entry.id === id ? known : undefined;
  const isOurs = ownershipOf({ identity }, profile).kind === 'ours';
  // An entry without an ID is this profile's only if it is `served`, or if the profile was created after the entry's
  // create request.
  const isExplained =
    entry.requestedAt === undefined ? entry.served === true : isCreatedAfter(profile, entry.requestedAt);
  return isOurs && isExplained ? { ...known, ...(id !== undefined && { id }) } : undefined;
}

const isCreatedAfter = ({ createdAt }: FargateProfile, requestedAt: Ms): boolean =>
  createdAt !== undefined && createdAt >= requestedAt - DATE_PRECISION && createdAt < requestedAt + CREATE_WINDOW;

const roleNameIn = ({ podExecutionRoleArn }: FargateProfile): string | undefined =>
  parseRoleArn(podExecutionRoleArn)?.name;

function updateRoleEntries(
  { object, identity }: Looking,
  seen: ProfilesAndRoles,
  entries: readonly RecordedRole[],
  ours: readonly FargateProfile[],
  isOpen: (entry: RecordedRole) => boolean,
): readonly RecordedRole[] {
  const isUserProvided = ({ arn }: FoundRole): boolean => arn === object.spec.roleARN;
  const kept = entries.flatMap((entry) => {
    const read = seen.roles.find(({ name }) => isSameRoleName(name, entry.name));
    if (read === undefined || read.found === 'unread') return [entry];
    // If a live profile uses a missing role, the role is recreated. Its record entry then keeps the former ID, because
    // the EKS access entry still belongs to the former role.
    const isInUse = ours.some((profile) => isSameRoleName(roleNameIn(profile), entry.name));
    const { found } = read;
    if (found === undefined) return isOpen(entry) || isInUse || entry.managed === false ? [entry] : [];
    const isOthers = isUserProvided(found) || isRoleTaggedByOthers(found.tags, identity);
    if (isOthers && entry.managed !== false) return [];
    const { requestedAt: _answered, ...known } = entry;
    if (entry.id === found.id || entry.managed === false) return [known];
    // The record of a recreated role keeps the former ID until the EKS access entry is right. Another owner's role is
    // removed from the record.
    if (!isRoleTaggedOurs({ identity }, found)) return [];
    return [entry.id === undefined ? { ...known, id: found.id } : known];
  });
  const added = foundRoles(seen.roles).filter(
    (role) =>
      isRoleTaggedOurs({ identity }, role) &&
      !isUserProvided(role) &&
      !kept.some((each) => isSameRoleName(each.name, role.name)),
  );
  return [...kept, ...added.map(({ name, id }) => ({ name, id }))];
}

/** Records AWS's creation time of the youngest profile that served. */
export function withLast(record: ProfileRecord, profiles: readonly FargateProfile[]): ProfileRecord {
  const times = profiles
    .filter((profile) => entryOf(record, profile)?.served === true)
    .map(({ createdAt = 0 }) => createdAt);
  const last = Math.max(record.last ?? 0, ...times);
  return last > 0 ? { ...record, last } : record;
}

/**
 * True if the role's ID in IAM differs from the ID in the record. Then no reconcile has checked the new role's access
 * entry yet, and another owner may have created the role.
 */
export function isRecreated({ record }: { readonly record: ProfileRecord }, found: Pick<Role, 'name' | 'id'>): boolean {
  const known = roleEntryOf(record, found.name)?.id;
  return known !== undefined && known !== found.id;
}
