import { FARGATE_TYPE, isOutdated } from '../../../pkg/fargate/access-entries.ts';
import type { RoleArn } from '../../../api/names.ts';
import type { Desired } from '../model/desired-state.ts';
import { isManagedHere } from '../model/owner.ts';
import { type Mutation, type Change, type PlanPart, change, optional } from '../model/change.ts';
import { type FoundRole, type Observed, type ObservedAccessEntry, findRole } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { roleEntryOf } from '../../shared/record.ts';
import { isRecreated } from '../record-after-read.ts';

// EKS binds an access entry to the unique ID of an IAM role, but its API shows only the role's ARN and when the entry
// was created. When EKS creates a Fargate profile, it creates an entry for the role's ARN only if there is none. EKS
// neither corrects nor deletes an entry. So after a role was recreated with the same name, new pods cannot join the
// cluster until a client recreates the entry.

/**
 * Deletes an outdated entry before a profile is created. While a live profile uses the role, the entry is kept, and
 * {@link ensureAccessEntry} replaces it after the creation of the new profile.
 */
export function* prepareAccessEntry(desired: Desired, observed: Observed, principal: RoleArn): Iterable<Change> {
  const role = desired.role && findRole(observed.roles, desired.role.name);
  const entry = findEntry(observed, principal);
  if (desired.role === undefined || entry?.found === undefined || !isManagedHere(desired, role)) return;
  // If the role does not exist yet, the entry is older than the role.
  if (role === undefined ? entry.found.type === FARGATE_TYPE : isOutdated(entry.found, role))
    yield optional({ kind: 'deleteAccessEntry', name: desired.role.name, principal, because: 'profileCreation' });
}

/**
 * Replaces an outdated entry, or creates a missing one. After that, the record says that this role's entry is right.
 */
export function* ensureAccessEntry(desired: Desired, observed: Observed, role: FoundRole): PlanPart {
  if (!isCheckDue(desired, role)) return undefined;
  const isKnownRecreated = isRecreated(desired, role);
  const entry = findEntry(observed, role.arn);
  if (entry === undefined || entry.mode === 'CONFIG_MAP') return undefined;
  const reason = roleRecreated(desired, role, knownOf(entry), entry.refusal);
  if (entry.refusal !== undefined) return isKnownRecreated ? reason : undefined;
  const { found } = entry;
  const isRight =
    found === undefined
      ? !(isKnownRecreated && isManagedHere(desired, role)) && needsNoEntry(desired, entry)
      : !isOutdated(found, role, isKnownRecreated);
  if (isRight) return undefined;
  if (!isManagedHere(desired, role) || (found !== undefined && found.type !== FARGATE_TYPE)) return reason;
  if (found !== undefined) yield change(deletionOf(role, 'roleRecreated'));
  yield change({ kind: 'createAccessEntry', name: role.name, principal: role.arn });
  return undefined;
}

type EntryState = Reason<'RoleRecreated'>['facts']['entry'];

const knownOf = ({ refusal, found }: ObservedAccessEntry): EntryState =>
  refusal !== undefined ? 'unknown' : found === undefined ? 'missing' : 'outdated';

export const roleRecreated = (
  desired: Desired,
  role: FoundRole,
  entry: EntryState,
  refusal: string | undefined,
): Reason => {
  const { name, arn, id } = role;
  const facts = { name, arn, id, cluster: desired.identity.eksCluster, entry, ours: isManagedHere(desired, role) };
  return newReason('RoleRecreated', { ...facts, ...(refusal !== undefined && { refusal }) });
};

/**
 * Deletes the entry of a role that is deleted next. While the EKS cluster is being deleted, the entry is kept: Cluster
 * API Provider AWS deletes the cluster as soon as its last profile is gone, so a call about the entry could fail then.
 */
export function* removeAccessEntry(desired: Desired, observed: Observed, role: FoundRole): Iterable<Change> {
  const entry = findEntry(observed, role.arn);
  if (observed.cluster === 'gone' || desired.isLeavingWithCluster) return;
  if (entry?.found?.type === FARGATE_TYPE) yield optional(deletionOf(role, 'roleDeletion'));
}

const isCheckDue = (desired: Desired, role: FoundRole): boolean =>
  isRecreated(desired, role) || !isChecked(desired, role);

const findEntry = ({ accessEntries = [] }: Observed, role: RoleArn): ObservedAccessEntry | undefined =>
  accessEntries.find(({ principal }) => principal === role);

const deletionOf = (
  { name, arn }: FoundRole,
  because: Extract<Mutation, { kind: 'deleteAccessEntry' }>['because'],
): Mutation => ({ kind: 'deleteAccessEntry', name, principal: arn, because });

/**
 * Does not compare the role's ID, because the access entry of a recreated role is checked in any case. Another owner's
 * role is recorded once its access entry was checked.
 */
function isChecked(desired: Desired, role: FoundRole): boolean {
  const { record } = desired;
  const recorded = roleEntryOf(record, role.name);
  return isManagedHere(desired, role)
    ? recorded?.checked === true && record.entry !== role.arn
    : recorded !== undefined;
}

/**
 * In mode `API_AND_CONFIG_MAP`, the ConfigMap aws-auth may admit the role instead, so the controller restores only an
 * entry that it has deleted itself. If the role was recreated, the controller may have done so although a restored
 * record does not show it.
 */
const needsNoEntry = ({ record }: Desired, { mode, principal }: ObservedAccessEntry): boolean =>
  mode !== 'API' && record.entry !== principal;
