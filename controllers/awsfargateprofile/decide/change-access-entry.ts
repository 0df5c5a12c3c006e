import type { Ms } from '../../../pkg/env/clock.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import type { Decision } from '../model/decision.ts';
import { mutateWith, stopWith } from '../model/decision.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Mutation } from '../model/mutation.ts';
import type { FoundRole, Observed, ObservedAccessEntry } from '../model/observed-state.ts';
import { newReason } from '../reasons/reasons.ts';
import { findRole, isRecreated } from './compare.ts';

// EKS binds an access entry to the unique id of an IAM role, but its API shows only the role's ARN and when the entry
// was created. When EKS creates a Fargate profile, EKS makes an entry for the ARN of the role only if there is none.
// EKS neither corrects nor deletes an entry. So after a role was deleted and created again with the same name, new pods
// cannot join the cluster until a client recreates the entry.

/**
 * The type of the access entries that EKS makes for Fargate profiles. This controller changes no entry of another type.
 */
const FARGATE_TYPE = 'FARGATE_LINUX';
/**
 * The precision of the time that IAM gives for the creation of a role: one second. An access entry that was created in
 * the same second as the role may be older than the role.
 */
const ROLE_TIME_PRECISION: Ms = 1_000;

/**
 * Returns the next step for the role's access entry before a Fargate profile is created; `undefined` if the profile can
 * be created. The step reads the entry, or deletes an entry that is older than the IAM role, so that EKS makes a new
 * one. An entry of a role that this controller does not manage stays.
 *
 * While a live profile uses the role, the entry stays too, and {@link ensureAccessEntry} replaces it after the creation
 * of the new profile.
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
 * Returns the next step for the role's access entry after the Fargate profile is ACTIVE: the entry must be bound to the
 * present unique id of the IAM role. `undefined` if there is nothing to do. Each role is checked once, because status
 * records the id of the checked role.
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
      entry: entry.isUnreadable === true ? 'unknown' : entry.found === undefined ? 'missing' : 'outdated',
      ...(entry.refusal && { refusal: entry.refusal }),
    }),
  );
  if (entry.isUnreadable) return isKnownRecreated ? told : undefined;
  const { found } = entry;
  if (found === undefined ? !mustBeCreated(desired, entry) : !isOutdated(entry, role, isKnownRecreated))
    return undefined;
  if (!isManaged || entry.refusal !== undefined) return told;
  if (found === undefined) {
    return mutateWith({ kind: 'createAccessEntry', name: role.name, principal: role.arn });
  }
  return found.type === FARGATE_TYPE ? mutateWith(deletionOf(role, 'roleRecreated')) : told;
}

/**
 * Returns the next step for the role's access entry before this controller deletes the IAM role: the step reads or
 * deletes the entry. `undefined` if there is no entry to delete, or if AWS refuses to show or to delete the entry.
 *
 * Also `undefined` if the EKS cluster is being deleted, because the entry disappears with the cluster. Cluster API
 * Provider AWS deletes the EKS cluster as soon as its last profile is gone, so a call for the entry could fail then.
 */
export function removeAccessEntry(desired: Desired, observed: Observed, role: FoundRole): Decision | undefined {
  if (observed.cluster === 'gone' || desired.isClusterLeaving) return undefined;
  const entry = findEntry(observed, role);
  if (entry === undefined) return readEntry(role, 'deletion');
  return entry.refusal === undefined && entry.found?.type === FARGATE_TYPE
    ? mutateWith(deletionOf(role, 'roleDeletion'))
    : undefined;
}

/** Returns the IAM role that the spec asks for, if the role exists and belongs to this controller. */
function managedRole({ wanted, identity }: Desired, { roles }: Observed): FoundRole | undefined {
  if (wanted?.role.kind !== 'managed') return undefined;
  const found = findRole(roles, wanted.role.name);
  return found !== undefined && roleOwnership(found, identity).kind === 'ours' ? found : undefined;
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
 * Whether the EKS access entry was made for an earlier IAM role with the same ARN: such an entry is older than the
 * present role. `isKnownRecreated` says that the role was certainly recreated. Then an entry from the same second as
 * the role counts as older too.
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
 * Whether the missing EKS access entry of a role has to be created. In authentication mode `API`, pods need the entry.
 * In mode `API_AND_CONFIG_MAP`, the ConfigMap aws-auth may admit the role instead, so the controller restores only an
 * entry that it has deleted itself.
 */
const mustBeCreated = ({ recorded }: Desired, { mode, principal, isDeletedByThisPass }: ObservedAccessEntry): boolean =>
  mode === 'API' || isDeletedByThisPass === true || recorded.accessEntryDeletedOf === principal;
