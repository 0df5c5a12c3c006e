import { keyOf, keyText } from 'controller-runtime/client';
import { formatMilliTime, type Ms, parseTimestamp } from 'controller-runtime/env';
import { isRecord, tryJson, type UnknownRecord } from 'controller-runtime/json';
import type { ObjectMeta } from 'controller-runtime/schema';
import { AccountId, EksClusterName, ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import { type AWSFargateProfile, RECORD_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { FargateProfile, IdentityRef } from '../../pkg/cloud/index.ts';
import { findProfileNameProblem, findRoleNameProblem, isSameRoleName } from '../../pkg/fargate/names.ts';

// The record is an annotation that says where in AWS to look for an object's resources. Unlike fields, annotations are
// never pruned by the API server, and `clusterctl move` and backups keep them. A record proves nothing: the tags of a
// profile or role show who owns it. The reasons are in docs/adr/0024.

/** Where in AWS the profile exists or may exist. */
export interface KnownLocation {
  readonly account: AccountId;
  readonly region: string;
  readonly eksCluster: EksClusterName;
}

export type Location =
  | ({ readonly kind: 'known' } & KnownLocation)
  /** Nothing was created in AWS since this controller added the finalizer. */
  | { readonly kind: 'none' }
  /** Another client added the finalizer, or removed the record. The profile may exist anywhere. */
  | { readonly kind: 'unknown' };

export interface RecordedProfile {
  readonly name: ProfileName;
  /** The unique ID at the end of the ARN. Undefined until AWS has returned the profile or answered the request. */
  readonly id?: string;
  /**
   * AWS's time of the create request, in ms since 1970. It is set before the request, and removed once a read has
   * returned the profile.
   */
  readonly requestedAt?: Ms;
  /**
   * Whether the profile has ever been ACTIVE and matched the spec. Also set for a profile that the controller found and
   * did not create.
   */
  readonly served?: true;
  /** Since when the profile has been ACTIVE and matched the spec, in ms since 1970. */
  readonly activeSince?: Ms;
  /**
   * Since when the profile's pods are being moved to its replacement, in ms since 1970. Ignored if the replacement has
   * been ACTIVE and matched the spec only since a later time.
   */
  readonly drainSince?: Ms;
}

export interface RecordedRole {
  readonly name: RoleName;
  /** IAM's unique ID (`AROA…`). A different ID under the same name means that the role was recreated. */
  readonly id?: string;
  /** AWS's time of the create request, in ms since 1970, until a read has returned the role. */
  readonly requestedAt?: Ms;
  /** Whether the access entry belongs to the role with this ID. EKS does not correct the entry of a recreated role. */
  readonly checked?: true;
  /**
   * `false` means that the role belongs to a different owner and the profile only uses it. Such a role never delays the
   * removal of the finalizer.
   */
  readonly managed?: false;
}

export interface ProfileRecord {
  readonly in: Location;
  /** The profile was created with this identity. If undefined, the manager's credentials were used. */
  readonly identity?: IdentityRef;
  /** Each profile that may exist in AWS because of this object, from before its create request until it is gone. */
  readonly profiles: readonly RecordedProfile[];
  /** AWS's creation time of the newest profile in this record that `served`, in ms since 1970. It never decreases. */
  readonly last?: Ms;
  readonly roles: readonly RecordedRole[];
  /** The access entry of this role in the EKS cluster is being recreated. */
  readonly entry?: RoleArn;
  readonly deleting?: true;
  /** Keys that newer versions of the manager have written. They are kept unchanged. */
  readonly others?: UnknownRecord;
}

export type ReadRecord =
  | { readonly kind: 'recorded'; readonly record: ProfileRecord }
  | { readonly kind: 'absent' }
  /** `problem` completes the sentence "the annotation …". */
  | { readonly kind: 'unreadable'; readonly problem: string };

export const EMPTY_RECORD: ProfileRecord = { in: { kind: 'unknown' }, profiles: [], roles: [] };
export const FIRST_RECORD: ProfileRecord = { in: { kind: 'none' }, profiles: [], roles: [] };

/** In characters. The API server accepts 256 KiB of annotations per object. Ten profiles take 2 KiB. */
export const MAX_RECORD = 32 * 1_024;
/** Each entry costs AWS calls. EKS allows ten profiles per cluster by default. */
const MAX_ENTRIES = 50;
const VERSION = 1;
const NOWHERE = 'nowhere';

/** Parses each version of an object once. */
const parsed = new WeakMap<ObjectMeta, ReadRecord>();

export function readRecord({ metadata }: { readonly metadata: ObjectMeta }): ReadRecord {
  const known = parsed.get(metadata);
  if (known !== undefined) return known;
  const text = metadata.annotations?.[RECORD_ANNOTATION];
  const read = text === undefined ? ABSENT : parseRecord(text, keyText(keyOf({ metadata })));
  parsed.set(metadata, read);
  return read;
}

const ABSENT: ReadRecord = { kind: 'absent' };

/**
 * Without a record, uses status. Status does not show whether a profile ever served pods, so each profile in status
 * counts as `served`: the controller deletes profiles that never served more readily.
 */
export function recordOf(object: Pick<AWSFargateProfile, 'metadata' | 'status'>): ProfileRecord {
  const read = readRecord(object);
  return read.kind === 'recorded' ? read.record : recordFromStatus(object);
}

export const locationOf = (object: Pick<AWSFargateProfile, 'metadata' | 'status'>): Location => recordOf(object).in;

/** Returns the location in AWS according to status, which may contradict the record. */
export const reportedLocationOf = (object: Pick<AWSFargateProfile, 'status'>): Location => recordFromStatus(object).in;

/**
 * Whether the record says that nothing was created in AWS, and status does not contradict the record. A missing record
 * does not prove that: Cluster API Provider AWS may have reconciled the object, or another client may have removed the
 * annotation.
 */
export const isNeverBegun = (object: AWSFargateProfile): boolean =>
  recordOf(object).in.kind === 'none' && !showsResources(object);

/** Whether status shows a profile or role of this object. An old record may still say that nothing was created. */
const showsResources = ({ status = {} }: AWSFargateProfile): boolean =>
  status.profileARN !== undefined || (status.role?.id !== undefined && status.role.managed !== false);

function recordFromStatus({ status = {} }: Pick<AWSFargateProfile, 'status'>): ProfileRecord {
  const { account, region, eksClusterName: eksCluster, identityRef, profileName, profileARN, role } = status;
  if (account === undefined || region === undefined || eksCluster === undefined) return EMPTY_RECORD;
  const { kind, name } = identityRef ?? {};
  const names = [profileName, ...(status.predecessors ?? []).map((each) => each.name)];
  const id = profileARN === undefined ? undefined : profileIdOf(profileARN);
  return {
    in: { kind: 'known', account, region, eksCluster },
    ...(kind !== undefined && name !== undefined && { identity: { kind, name } }),
    profiles: [...new Set(names)].flatMap((each) =>
      each === undefined || findProfileNameProblem(each) !== undefined
        ? []
        : [{ name: each, served: true as const, ...(each === profileName && id !== undefined && { id }) }],
    ),
    roles:
      role?.name === undefined || findRoleNameProblem(role.name) !== undefined
        ? []
        : [
            {
              name: role.name,
              ...(role.id !== undefined && { id: role.id }),
              ...(role.managed === false && { managed: role.managed }),
            },
          ],
  };
}

export const profileIdOf = (arn: string): string | undefined => arn.split('/').at(3);

export const isEntryOf = (entries: readonly RecordedProfile[], profile: FargateProfile): boolean =>
  entries.some((entry) => entry.name === profile.name && entry.id === profileIdOf(profile.arn));

export const entryOf = ({ profiles }: ProfileRecord, profile: FargateProfile): RecordedProfile | undefined =>
  profiles.find((entry) => isEntryOf([entry], profile));

export const roleEntryOf = ({ roles }: ProfileRecord, name: string): RecordedRole | undefined =>
  roles.find((entry) => isSameRoleName(entry.name, name));

/** `managed: false` marks another owner's role. */
export const managedRolesIn = ({ roles }: ProfileRecord): readonly RecordedRole[] =>
  roles.filter(({ managed }) => managed !== false);

export const currentEntry = (entries: readonly RecordedProfile[]): RecordedProfile | undefined =>
  entries.findLast(({ served }) => served === true) ?? entries.at(-1);

/** Returns the profile in `among` that the record shows as the last to have `served`. */
export const servedIn = <A extends { readonly arn: string }>(
  { profiles }: ProfileRecord,
  among: readonly A[],
): A | undefined =>
  profiles
    .filter(({ served }) => served === true)
    .flatMap(({ id }) => among.find(({ arn }) => id !== undefined && profileIdOf(arn) === id) ?? [])
    .at(-1);

export const formatLocation = ({ account, region, eksCluster }: KnownLocation): string =>
  [account, region, eksCluster].join('/');

/** The controller must not write a record that it would refuse to read. */
export const isTooLong = (record: ProfileRecord, object: Pick<AWSFargateProfile, 'metadata'>): boolean =>
  formatRecord(record, object).length > MAX_RECORD ||
  record.profiles.length > MAX_ENTRIES ||
  record.roles.length > MAX_ENTRIES;

export function formatRecord(record: ProfileRecord, { metadata }: Pick<AWSFargateProfile, 'metadata'>): string {
  const time = (instant: Ms | undefined): string | undefined =>
    instant === undefined ? undefined : formatMilliTime(instant);
  const { identity, last, entry, deleting } = record;
  return JSON.stringify({
    v: VERSION,
    for: keyText(keyOf({ metadata })),
    in: record.in.kind === 'known' ? formatLocation(record.in) : record.in.kind === 'none' ? NOWHERE : undefined,
    identity: identity && `${identity.kind}/${identity.name}`,
    profiles: record.profiles.map(({ name, id, requestedAt, served, activeSince, drainSince }) => ({
      name,
      id,
      requestedAt: time(requestedAt),
      served,
      activeSince: time(activeSince),
      drainSince: time(drainSince),
    })),
    last: time(last),
    roles: record.roles.map(({ requestedAt, ...role }) => ({ ...role, requestedAt: time(requestedAt) })),
    entry,
    deleting,
    ...record.others,
  });
}

/** A record with a different `for` was copied from another object, so it is ignored. */
function parseRecord(text: string, key: string): ReadRecord {
  if (text.length > MAX_RECORD) return unreadable(`is longer than ${MAX_RECORD} characters`);
  const value = tryJson(text);
  if (!isRecord(value)) return unreadable('is not a JSON object');
  const { v, for: owner, in: place, identity, profiles = [], last, roles = [], entry, deleting, ...others } = value;
  if (v !== VERSION)
    return unreadable(`has another version than ${VERSION}: a newer version of the controller may have written it`);
  if (owner !== key) return ABSENT;
  if (isNestedTooDeeply(others)) return unreadable('is nested too deeply');
  try {
    const at = timeOf(last);
    const ref = identityOf(identity);
    return {
      kind: 'recorded',
      record: {
        in: parseLocation(place),
        ...(ref !== undefined && { identity: ref }),
        profiles: listOf(profiles, 'profiles').map(profileOf),
        ...(at !== undefined && { last: at }),
        roles: listOf(roles, 'roles').map(roleOf),
        ...(entry !== undefined && { entry: RoleArn.of(textOf(entry, 'entry')) }),
        ...(flagOf(deleting, 'deleting') === true && { deleting: true }),
        ...(Object.keys(others).length > 0 && { others }),
      },
    };
  } catch (error) {
    if (error instanceof Unreadable) return unreadable(error.message);
    throw error;
  }
}

class Unreadable extends Error {}

/** JSON.stringify overflows the stack at a smaller depth than JSON.parse: a deep record could be read, not written. */
const MAX_DEPTH = 32;

const isNestedTooDeeply = (value: unknown, levels = MAX_DEPTH): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((each) => isNestedTooDeeply(each, levels - 1)));

const unreadable = (problem: string): ReadRecord => ({ kind: 'unreadable', problem });

function profileOf(value: UnknownRecord): RecordedProfile {
  const name = textOf(value['name'], 'profiles[].name');
  if (findProfileNameProblem(name) !== undefined)
    throw new Unreadable('has a profile with a name that EKS does not allow');
  const served = flagOf(value['served'], 'profiles[].served');
  return {
    name: ProfileName.of(name),
    ...idIn(value),
    ...timesIn(value, ['requestedAt', 'activeSince', 'drainSince']),
    ...(served === true && { served }),
  };
}

function roleOf(value: UnknownRecord): RecordedRole {
  const name = textOf(value['name'], 'roles[].name');
  if (findRoleNameProblem(name) !== undefined) throw new Unreadable('has a role with a name that IAM does not allow');
  const checked = flagOf(value['checked'], 'roles[].checked');
  const managed = flagOf(value['managed'], 'roles[].managed');
  return {
    name: RoleName.of(name),
    ...idIn(value),
    ...timesIn(value, ['requestedAt']),
    ...(checked === true && { checked }),
    ...(managed === false && { managed }),
  };
}

const idIn = ({ id }: UnknownRecord): { readonly id?: string } => (id === undefined ? {} : { id: textOf(id, 'id') });

function timesIn<K extends string>(value: UnknownRecord, fields: readonly K[]): { readonly [F in K]?: Ms } {
  const times: { [F in K]?: Ms } = {};
  for (const field of fields) {
    const time = timeOf(value[field]);
    if (time !== undefined) times[field] = time;
  }
  return times;
}

function timeOf(value: unknown): Ms | undefined {
  if (value === undefined) return undefined;
  const time = parseTimestamp(textOf(value, 'a time'));
  if (time === undefined) throw new Unreadable('has a time that is not a date');
  return time;
}

function identityOf(value: unknown): IdentityRef | undefined {
  if (value === undefined) return undefined;
  const [kind = '', name = '', ...rest] = textOf(value, 'identity').split('/');
  if (kind === '' || name === '' || rest.length > 0) throw new Unreadable('has an identity that is not <kind>/<name>');
  return { kind, name };
}

/**
 * A flag that is not a boolean was edited by hand. That is an error: if the flag counted as absent, a profile could look
 * as if it had never served pods, and be deleted.
 */
function flagOf(value: unknown, field: string): boolean | undefined {
  if (value !== undefined && typeof value !== 'boolean') throw new Unreadable(`has neither true nor false in ${field}`);
  return value;
}

const textOf = (value: unknown, field: string): string => {
  if (typeof value !== 'string' || value === '') throw new Unreadable(`has no text in ${field}`);
  return value;
};

function listOf(value: unknown, field: string): readonly UnknownRecord[] {
  if (!Array.isArray(value) || !value.every(isRecord)) throw new Unreadable(`has no list of objects in ${field}`);
  if (value.length > MAX_ENTRIES) throw new Unreadable(`has more than ${MAX_ENTRIES} entries in ${field}`);
  return value;
}

function parseLocation(value: unknown): Location {
  if (value === undefined) return { kind: 'unknown' };
  if (value === NOWHERE) return { kind: 'none' };
  const { account, region, eksCluster } = LOCATION.exec(textOf(value, 'in'))?.groups ?? {};
  if (account === undefined || region === undefined || eksCluster === undefined)
    throw new Unreadable('has no <account>/<region>/<EKS cluster> in the field in');
  return { kind: 'known', account: AccountId.of(account), region, eksCluster: EksClusterName.of(eksCluster) };
}

/** Restricts the characters, because users can write any text into an annotation, and messages show the location. */
const LOCATION = /^(?<account>\d{12})\/(?<region>[a-z0-9-]{1,63})\/(?<eksCluster>[A-Za-z0-9][\w-]{0,99})$/;
