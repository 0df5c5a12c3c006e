import type { Ms } from 'controller-runtime/env';
import { isSameRoleName } from '../../pkg/fargate/names.ts';
import type { IdentityRef } from '../../pkg/cloud/index.ts';
import {
  type ProfileRecord,
  type RecordedProfile,
  type RecordedRole,
  profileIdOf,
  isEntryOf,
  managedRolesIn,
} from '../shared/record.ts';
import { isAsDesired } from './plan/compare.ts';
import { activeSince, indispensablePredecessor } from './plan/replace.ts';
import type { Desired } from './model/desired-state.ts';
import { type Mutation, type MutationOutcome, type ReconcileEnd, isWithoutEffect, subjectOf } from './model/change.ts';
import { type Observed, findProfile, findRole } from './model/observed-state.ts';
import { isManagedHere } from './model/owner.ts';
import { withLast } from './record-after-read.ts';
import { ACTIVE } from './model/profile-status.ts';

// These functions change the record before a change in AWS, after it, and at the end of a reconcile.

/**
 * Returns the record that must be written before the change, so that a crash right after the change leaves no
 * unrecorded resource in AWS.
 */
export function recordAhead(record: ProfileRecord, mutation: Mutation, now: Ms): ProfileRecord {
  switch (mutation.kind) {
    case 'createProfile':
      return {
        ...record,
        profiles: withRequest(record.profiles, { name: mutation.profile.name, requestedAt: now }, same),
      };
    case 'createRole':
      return {
        ...record,
        roles: withRequest(record.roles, { name: mutation.role.name, requestedAt: now }, isSameRole),
      };
    case 'deleteAccessEntry':
      return mutation.because === 'roleDeletion' ? record : { ...record, entry: mutation.principal };
    default:
      return record;
  }
}

/** Adds the location in AWS. Called as soon as the object has something there, or is about to get it. */
export function located(
  record: ProfileRecord,
  { place, identity }: Desired,
  used: IdentityRef | undefined,
): ProfileRecord {
  const { identity: _former, ...rest } = record;
  const { account, region } = place;
  return {
    ...rest,
    in: { kind: 'known', account, region, eksCluster: identity.eksCluster },
    ...(used !== undefined && { identity: used }),
  };
}

/** Removes the mark of a deletion from the record of a living object: the mark comes from an old copy. */
export function withoutDeletion({ deleting: _old, ...record }: ProfileRecord): ProfileRecord {
  return record;
}

const same = (a: RecordedProfile, b: RecordedProfile): boolean => a.name === b.name;
const isSameRole = (a: RecordedRole, b: RecordedRole): boolean => isSameRoleName(a.name, b.name);

/**
 * Adds a create request to the record. If the record already has this name, its data is kept: an earlier request that
 * AWS has not answered keeps its time, and a role that is being recreated keeps its former ID, which shows that the EKS
 * access entry still belongs to the deleted role.
 */
function withRequest<A extends RecordedProfile | RecordedRole>(
  entries: readonly A[],
  request: A,
  isSameName: (a: A, b: A) => boolean,
): readonly A[] {
  const known = entries.find((each) => isSameName(each, request));
  if (known === undefined) return [...entries, request];
  return entries.map((each) =>
    each === known ? { ...each, requestedAt: each.requestedAt ?? request.requestedAt } : each,
  );
}

/** `drainSince` is when the profile's pods began to be moved. Returns the same record if nothing changes. */
export function withDrainSince(record: ProfileRecord, name: string, drainSince: Ms): ProfileRecord {
  const isRecorded = record.profiles.some((each) => each.name === name && each.drainSince === drainSince);
  if (isRecorded) return record;
  return { ...record, profiles: record.profiles.map((each) => (each.name === name ? { ...each, drainSince } : each)) };
}

/**
 * Returns the record after AWS's answer. A refusal restores the entry from `before`, the record before the request,
 * because an earlier request for this name may still succeed.
 */
export function recordAfter(
  record: ProfileRecord,
  before: ProfileRecord,
  mutation: Mutation,
  outcome: MutationOutcome,
): ProfileRecord {
  const isRefused = isWithoutEffect(outcome) || outcome.kind === 'nameTaken';
  const name = subjectOf(mutation);
  switch (mutation.kind) {
    case 'createProfile': {
      const profile = outcome.kind === 'done' ? outcome.profile : undefined;
      const id = profile && profileIdOf(profile.arn);
      if (id !== undefined)
        return { ...record, profiles: record.profiles.map((each) => (each.name === name ? { ...each, id } : each)) };
      return isRefused ? { ...record, profiles: asBefore(record.profiles, before.profiles, name) } : record;
    }
    case 'createRole': {
      const id = outcome.kind === 'done' ? outcome.role?.id : undefined;
      if (id !== undefined)
        return {
          ...record,
          roles: record.roles.map((each) => (isSameRoleName(each.name, name) ? { ...each, id: each.id ?? id } : each)),
        };
      return isRefused ? { ...record, roles: asBefore(record.roles, before.roles, name) } : record;
    }
    case 'deleteRole':
      return outcome.kind === 'done' || outcome.kind === 'gone'
        ? { ...record, roles: withoutRole(record.roles, name) }
        : record;
    default:
      return record;
  }
}

function asBefore<A extends { readonly name: string }>(
  entries: readonly A[],
  before: readonly A[],
  name: string,
): readonly A[] {
  const isNamed = (each: A): boolean => isSameRoleName(each.name, name);
  return [...entries.filter((each) => !isNamed(each)), ...before.filter(isNamed)];
}

const withoutRole = (roles: readonly RecordedRole[], name: string): readonly RecordedRole[] =>
  roles.filter((each) => !isSameRoleName(each.name, name));

/** `kept` are roles that another object or profile needs. They are removed from this object's record. */
export function recordAtEnd(
  record: ProfileRecord,
  desired: Desired,
  observed: Observed,
  { end, kept }: { readonly end: ReconcileEnd; readonly kept: readonly { readonly name: string }[] },
): ProfileRecord {
  const indispensable = indispensablePredecessor(desired, observed)?.name;
  const profiles = record.profiles.map((entry) => {
    const updated = withActiveSince(entry, desired, observed, end);
    const { drainSince: _since, ...undrained } = updated;
    // The drain begins again when the successor has no health issues.
    return entry.name === indispensable ? undrained : updated;
  });
  const left = record.roles.filter(({ name }) => !kept.some((each) => isSameRoleName(each.name, name)));
  const roles = end === 'inSync' ? withCheckedRole(left, desired, observed) : left;
  const { entry, ...rest } = record;
  const isEntryOpen = entry !== undefined && end !== 'inSync';
  return withLast({ ...rest, profiles, roles, ...(isEntryOpen && { entry }) }, observed.profiles);
}

function withActiveSince(
  entry: RecordedProfile,
  desired: Desired,
  observed: Observed,
  end: ReconcileEnd,
): RecordedProfile {
  // A deletion does not need the time, so the record is not written for it.
  if (desired.profile === undefined) return entry;
  const found = findProfile(observed.profiles, entry.name);
  const { activeSince: _former, ...rest } = entry;
  const isServing = found?.status === ACTIVE && isEntryOf([entry], found) && isAsDesired(desired, observed, found);
  if (!isServing) return rest;
  const served = end === 'inSync' ? { served: true as const } : {};
  return { ...rest, ...served, activeSince: activeSince(desired, found) };
}

/**
 * Records that the role's access entry was checked. The ID of another owner's role is recorded too, because it shows
 * later whether the role was recreated. The role in use comes last, and `usedRoleNamesOf` relies on that.
 */
function withCheckedRole(
  roles: readonly RecordedRole[],
  desired: Desired,
  observed: Observed,
): readonly RecordedRole[] {
  const { role } = desired;
  const found = role && findRole(observed.roles, role.name);
  if (found === undefined) return roles;
  const state = isManagedHere(desired, found) ? ({ checked: true } as const) : ({ managed: false } as const);
  const entry: RecordedRole = { name: found.name, id: found.id, ...state };
  const others = roles.filter(({ name, managed }) => managed !== false && !isSameRoleName(name, found.name));
  return [...others, entry];
}

/** The record lists all profiles of this object, except those in `elsewhere`. */
export const hasAnythingInAws = ({ record, elsewhere }: Pick<Desired, 'record' | 'elsewhere'>): boolean =>
  record.in.kind !== 'none' || record.profiles.length > 0 || record.roles.length > 0 || elsewhere.length > 0;

export const isAnythingLeft = (record: ProfileRecord): boolean =>
  record.profiles.length > 0 || managedRolesIn(record).length > 0;
