import type { Ms } from '../../../pkg/env/clock.ts';
import { roleOwner } from '../../../pkg/fargate/ownership.ts';
import type { Decision } from '../model/decision.ts';
import { mutateWith, stopWith } from '../model/decision.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Mutation } from '../model/mutation.ts';
import type { FoundRole, Observed, ObservedAccessEntry } from '../model/observed-state.ts';
import { newReason } from '../reasons/reasons.ts';
import { findRole, isRecreated } from './compare.ts';

// EKS binds an access entry to the unique id of a role, and shows only when the entry was created. When EKS creates a
// Fargate profile, it makes an entry for the role's ARN only if there is none. It neither corrects nor deletes an
// entry. So after a role was deleted and created again with the same name, new pods cannot join the cluster until the
// entry is made anew.

/**
 * The type of the access entries that EKS makes for Fargate profiles. This controller touches no entry of another type.
 */
const FARGATE_TYPE = 'FARGATE_LINUX';
/**
 * The precision of the time at which IAM says that a role was created. An entry of the same second may be older than
 * the role.
 */
const ROLE_TIME_PRECISION: Ms = 1_000;

/**
 * The next step before a profile is created: deletes an access entry that is older than a role of this controller, so
 * that EKS makes a new one. `undefined` if the profile can be created. An entry whose ARN a live profile uses is not
 * deleted here, but after the creation, by {@link ensureAccessEntry}.
 */
export function prepareAccessEntry(desired: Desired, observed: Observed): Decision | undefined {
  const role = managedRole(desired, observed);
  if (role === undefined) return undefined;
  const entry = findEntry(observed, role);
  if (entry === undefined) return readEntry(role, 'creation');
  return isOutdated(entry, role) && entry.inUseBy === undefined && entry.refusal === undefined
    ? mutateWith(deletionOf(role, 'profileCreation'))
    : undefined;
}

/**
 * The next step after the profile is ACTIVE, so that its role has an access entry that is bound to the role's present
 * unique id; `undefined` if there is none. Each role is checked once: status records the id of the role.
 */
export function ensureAccessEntry(desired: Desired, observed: Observed): Decision | undefined {
  const role = desired.wanted && findRole(observed.roles, desired.wanted.role.name);
  const isKnownRecreated = role !== undefined && isRecreated(desired, role);
  const isManaged = managedRole(desired, observed) !== undefined;
  if (role === undefined || (!isKnownRecreated && (!isManaged || isChecked(desired, role)))) return undefined;
  const entry = findEntry(observed, role);
  if (entry === undefined) return readEntry(role, 'readiness');
  if (entry.mode === 'CONFIG_MAP') return undefined;
  const told = stopWith(
    newReason('RoleRecreated', {
      name: role.name,
      arn: role.arn,
      id: role.id,
      cluster: desired.identity.eksCluster,
      ...(entry.refusal && { refusal: entry.refusal }),
    }),
  );
  if (entry.isUnreadable) return isKnownRecreated ? told : undefined;
  const { found } = entry;
  if (found === undefined ? !isMissed(desired, entry) : !isOutdated(entry, role, isKnownRecreated)) return undefined;
  if (!isManaged || entry.refusal !== undefined) return told;
  if (found === undefined) {
    return mutateWith({ kind: 'createAccessEntry', name: role.name, principal: role.arn });
  }
  return found.type === FARGATE_TYPE ? mutateWith(deletionOf(role, 'roleRecreated')) : told;
}

/**
 * The next step before a role of this controller is deleted: deletes its access entry; `undefined` if there is none. In
 * a teardown the entry goes with the EKS cluster, which CAPA deletes as soon as its last profile is gone: a call for
 * the entry could then fail.
 */
export function removeAccessEntry(desired: Desired, observed: Observed, role: FoundRole): Decision | undefined {
  if (observed.cluster === 'gone' || desired.isClusterLeaving) return undefined;
  const entry = findEntry(observed, role);
  if (entry === undefined) return readEntry(role, 'deletion');
  return entry.refusal === undefined && entry.found?.type === FARGATE_TYPE
    ? mutateWith(deletionOf(role, 'roleDeletion'))
    : undefined;
}

/** The wanted role if it exists and belongs to this controller. */
function managedRole({ wanted, identity }: Desired, { roles }: Observed): FoundRole | undefined {
  if (wanted?.role.kind !== 'managed') return undefined;
  const found = findRole(roles, wanted.role.name);
  return found !== undefined && roleOwner(found, identity).kind === 'ours' ? found : undefined;
}

const findEntry = ({ accessEntries = [] }: Observed, role: FoundRole): ObservedAccessEntry | undefined =>
  accessEntries.find(({ principal }) => principal === role.arn);

const readEntry = (role: FoundRole, before: 'creation' | 'readiness' | 'deletion'): Decision => ({
  kind: 'readAccessEntry',
  role,
  before,
});

const deletionOf = (
  { name, arn }: FoundRole,
  because: Extract<Mutation, { kind: 'deleteAccessEntry' }>['because'],
): Mutation => ({ kind: 'deleteAccessEntry', name, principal: arn, because });

/**
 * Whether the entry was made for an earlier role with the same ARN, because it is older than the role.
 * `isKnownRecreated`: the role is known to be recreated, so an entry of the same second counts as older too.
 */
function isOutdated(
  { found, isMadeAnew }: ObservedAccessEntry,
  { createdAt }: FoundRole,
  isKnownRecreated = false,
): boolean {
  if (found === undefined || isMadeAnew === true) return false;
  return isKnownRecreated
    ? found.createdAt < createdAt + ROLE_TIME_PRECISION
    : found.type === FARGATE_TYPE && found.createdAt < createdAt;
}

const isChecked = ({ recorded }: Desired, { id }: FoundRole): boolean =>
  recorded.accessEntryCheckedFor === id || recorded.accessEntryRenewedFor === id;

/**
 * Whether the role needs the missing access entry. In mode `API_AND_CONFIG_MAP` the ConfigMap aws-auth may serve the
 * role, unless this controller has deleted an entry of the role.
 */
const isMissed = ({ recorded }: Desired, { mode, principal, isDeletedByThisPass }: ObservedAccessEntry): boolean =>
  mode === 'API' || isDeletedByThisPass === true || recorded.accessEntryDeletedOf === principal;
