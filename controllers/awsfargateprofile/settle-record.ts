import type { Ms } from 'controller-runtime/env';
import type { FargateProfile, Role } from '../../pkg/cloud/index.ts';
import { parseRoleArn } from '../../pkg/fargate/arns.ts';
import { isSameRoleName } from '../../pkg/fargate/names.ts';
import {
  type ProfileRecord,
  type RecordedProfile,
  type RecordedRole,
  type ReadRecord,
  profileIdOf,
} from '../shared/record.ts';
import { CREATING } from './model/profile-status.ts';

// What enters the record and what leaves it. An entry leaves only by evidence: AWS shows that the thing is absent, or that
// another one has its name. A field that is empty is no evidence.

/** How long EKS and IAM may answer "not found" for what they have agreed to create. */
const CREATE_VISIBILITY: Ms = 60_000;
/** EKS needs longer than this to delete a profile and to create one of the same name again. */
const CREATE_WINDOW: Ms = 120_000;
/** The precision of AWS's Date header, which has whole seconds. */
const DATE_PRECISION: Ms = 1_000;

/** By entry: since when this process knows a create request without an answer, on the monotonic clock. */
export type Unanswered = Readonly<Record<string, { readonly since: Ms }>>;

const keyOfEntry = (kind: 'profile' | 'role', { name, requestedAt }: RecordedProfile | RecordedRole): string =>
  `${kind} ${name} ${requestedAt}`;

/**
 * For an object that has the finalizer and no record: it may have lost the record of a request. The first pass writes a record, so
 * the key stays.
 */
const LOST = 'a lost record';

/** The object has no record, and this process has recorded nothing for it. Its status tells of no request. */
export const withLostRecord = (known: Unanswered, now: Ms): Unanswered => ({ [LOST]: { since: now }, ...known });

/** The age of an unanswered request counts from when this process first saw it, so that no wrong clock shortens it. */
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

/** AWS has refused the request, and the annotation may still have it: the API server may not answer for a while. */
export function withRefusedRequests(known: Unanswered, ahead: ProfileRecord, after: ProfileRecord): Unanswered {
  const open = Object.keys(withUnanswered({}, after, 0));
  const refused = Object.keys(withUnanswered({}, ahead, 0)).filter((key) => !open.includes(key));
  return { ...known, ...Object.fromEntries(refused.map((key) => [key, { since: -CREATE_VISIBILITY }])) };
}

/**
 * What the annotation says, and what this process has recorded: another client may have removed the annotation, or may have
 * set an old one back. Whoever removes it declares the access entries of the roles to be right.
 */
export function mergeRecords(
  read: ReadRecord,
  fromStatus: ProfileRecord,
  recorded: ProfileRecord | undefined,
): ProfileRecord {
  const annotation = read.kind === 'recorded' ? read.record : fromStatus;
  if (recorded === undefined) return annotation;
  const last = Math.max(annotation.last ?? 0, recorded.last ?? 0);
  const entry = recorded.entry ?? annotation.entry;
  const roles =
    read.kind === 'recorded' ? recorded.roles : recorded.roles.map(({ id: _id, checked: _checked, ...role }) => role);
  return {
    ...annotation,
    in: annotation.in.kind === 'known' ? annotation.in : recorded.in,
    profiles: mergeEntries(annotation.profiles, recorded.profiles, (a, b) => a.name === b.name),
    roles: mergeEntries(annotation.roles, roles, (a, b) => isSameRoleName(a.name, b.name)),
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
  // Another process may have recorded more about the same thing since.
  const both = recorded.map((known): A => {
    const other = annotation.find((each) => isSame(known, each));
    const isServed = other !== undefined && 'served' in other;
    return { ...known, ...(other?.id !== undefined && { id: other.id }), ...(isServed && { served: true }) };
  });
  return [...both, ...annotation.filter((each) => !recorded.some((known) => isSame(known, each)))];
}

/** What a pass has read of AWS. `ours` are the profiles that tags prove to be this object's. */
export interface Seen {
  readonly depth: 'glance' | 'survey';
  readonly cluster: 'there' | 'gone';
  readonly profiles: readonly FargateProfile[];
  readonly ours: readonly FargateProfile[];
  /** Profiles with the owner tag of another object. */
  readonly theirs: readonly FargateProfile[];
  readonly roles: readonly {
    readonly name: string;
    readonly found: Role | 'unread' | undefined;
    readonly isOurs: boolean;
    /** Tags give the role to another EKS cluster or namespace. */
    readonly isTheirs: boolean;
    /** It is the role of spec.roleARN, which the object only uses. */
    readonly isUserProvided: boolean;
  }[];
}

export interface SettleOptions {
  readonly unanswered: Unanswered;
  /** Monotonic. */
  readonly now: Ms;
  /** The ids of profiles that a user has declared to be this object's. */
  readonly takeOver: readonly string[];
  /** Whether a profile is what the spec asks for. */
  readonly isWanted: (profile: FargateProfile) => boolean;
}

export interface Settled {
  readonly record: ProfileRecord;
  /** Profiles of this object that another record of it has made, so nothing is created or deleted. */
  readonly elsewhere: readonly FargateProfile[];
  /** The object has lost its record lately, and a request of it may be unanswered. */
  readonly isLost: boolean;
}

/** The record after a pass has read AWS. */
export function settle(record: ProfileRecord, seen: Seen, options: SettleOptions): Settled {
  const isYoung = (key: string): boolean =>
    options.now - (options.unanswered[key]?.since ?? options.now) < CREATE_VISIBILITY;
  const isLost = (record.in.kind === 'unknown' || options.unanswered[LOST] !== undefined) && isYoung(LOST);
  const isOpen = (kind: 'profile' | 'role', entry: RecordedProfile | RecordedRole): boolean =>
    entry.requestedAt !== undefined && isYoung(keyOfEntry(kind, entry));
  const kept = record.profiles.flatMap((entry) => settleProfile(entry, seen, isOpen('profile', entry)) ?? []);
  const isRecorded = (profile: FargateProfile): boolean => isEntryOf(kept, profile);
  const strangers = seen.ours.filter((profile) => !isRecorded(profile));
  // A profile that appears while the lost record counts may be the result of a request of that record.
  const isHeldBack = (profile: FargateProfile): boolean =>
    !isLost &&
    record.last !== undefined &&
    profile.createdAt !== undefined &&
    profile.createdAt >= record.last &&
    !options.takeOver.includes(profileIdOf(profile.arn) ?? '') &&
    !options.isWanted(profile);
  const found = strangers.filter((profile) => !isHeldBack(profile)).map(entryOfFound);
  return {
    record: {
      ...record,
      profiles: [...kept, ...found],
      roles: settleRoles(record.roles, seen, (entry) => isOpen('role', entry)),
    },
    elsewhere: strangers.filter(isHeldBack),
    isLost,
  };
}

/** A profile that no create request of this record explains was found and not made, so no spec ever deletes it as unfinished. */
const entryOfFound = ({ name, arn }: FargateProfile): RecordedProfile => {
  const id = profileIdOf(arn);
  return { name, ...(id !== undefined && { id }), served: true };
};

export const isEntryOf = (entries: readonly RecordedProfile[], profile: FargateProfile): boolean =>
  entries.some((entry) => entry.name === profile.name && entry.id === profileIdOf(profile.arn));

function settleProfile(entry: RecordedProfile, seen: Seen, isOpen: boolean): RecordedProfile | undefined {
  if (seen.cluster === 'gone') return undefined;
  const profile = seen.profiles.find(({ name }) => name === entry.name);
  if (profile === undefined) return seen.depth === 'glance' || isOpen ? entry : undefined;
  if (seen.theirs.includes(profile)) return undefined;
  const { requestedAt: _answered, ...answered } = entry;
  // One write of the record tells that the profile is there and that it is ACTIVE.
  const known = profile.status === CREATING ? entry : answered;
  const id = profileIdOf(profile.arn);
  if (entry.id !== undefined) return entry.id === id ? known : undefined;
  const isOurs = seen.ours.includes(profile);
  // Without the time of a request, only what has served is known by its name.
  const isExplained =
    entry.requestedAt === undefined ? entry.served === true : isCreatedAfter(profile, entry.requestedAt);
  return isOurs && isExplained ? { ...known, ...(id !== undefined && { id }) } : undefined;
}

const isCreatedAfter = ({ createdAt }: FargateProfile, requestedAt: Ms): boolean =>
  createdAt !== undefined && createdAt >= requestedAt - DATE_PRECISION && createdAt < requestedAt + CREATE_WINDOW;

const roleNameIn = ({ podExecutionRoleArn }: FargateProfile): string | undefined =>
  parseRoleArn(podExecutionRoleArn)?.name;

function settleRoles(
  entries: readonly RecordedRole[],
  seen: Seen,
  isOpen: (entry: RecordedRole) => boolean,
): readonly RecordedRole[] {
  const kept = entries.flatMap((entry) => {
    const read = seen.roles.find(({ name }) => isSameRoleName(name, entry.name));
    if (read === undefined || read.found === 'unread') return [entry];
    // Under a live profile the role is created again, and its access entry has the former id.
    const isInUse = seen.ours.some((profile) => isSameRoleName(roleNameIn(profile), entry.name));
    if (read.found === undefined) return isOpen(entry) || isInUse || entry.managed === false ? [entry] : [];
    if ((read.isUserProvided || read.isTheirs) && entry.managed !== false) return [];
    const { requestedAt: _answered, ...known } = entry;
    if (entry.id === read.found.id || entry.managed === false) return [known];
    // Of a recreated role the former id stays until its access entry is right. A stranger's role is none of this object.
    if (!read.isOurs) return [];
    return [entry.id === undefined ? { ...known, id: read.found.id } : known];
  });
  const found = seen.roles.flatMap(({ name, found: role, isOurs, isUserProvided }) =>
    role === undefined ||
    role === 'unread' ||
    !isOurs ||
    isUserProvided ||
    kept.some((each) => isSameRoleName(each.name, name))
      ? []
      : [{ name: role.name, id: role.id }],
  );
  return [...kept, ...found];
}

/** With AWS's time of creation of the youngest profile that served. */
export function withLast(record: ProfileRecord, profiles: readonly FargateProfile[]): ProfileRecord {
  const times = profiles
    .filter((profile) => entryOf(record, profile)?.served === true)
    .map(({ createdAt = 0 }) => createdAt);
  const last = Math.max(record.last ?? 0, ...times);
  return last > 0 ? { ...record, last } : record;
}

export const entryOf = ({ profiles }: ProfileRecord, profile: FargateProfile): RecordedProfile | undefined =>
  profiles.find((entry) => isEntryOf([entry], profile));

export const roleEntryOf = ({ roles }: ProfileRecord, name: string): RecordedRole | undefined =>
  roles.find((entry) => isSameRoleName(entry.name, name));
