import * as E from 'fp-ts/lib/Either.js';
import type { ProfileName, RoleArn, RoleName } from '../../../../api/names.ts';
import type { AwsFailure } from '../../../../pkg/cloud/index.ts';
import { requiredBoundary } from '../../../../pkg/fargate/operator-limits.ts';
import { isAddedTagKey } from '../../../../pkg/fargate/tags/tag-drift.ts';
import { OWNER_TAG, foldCase, keepCase, tagValue } from '../../../../pkg/fargate/tags/tag-keys.ts';
import { reasonForFailure } from '../../aws/failure-reasons.ts';
import type { Desired } from '../../model/desired-state.ts';
import { isManagedHere, ownershipOf } from '../../model/owner.ts';
import { findProfile, findRole } from '../../model/observed-state.ts';
import { type Mutation, isRoleRemoval, settingTakenBy } from '../../model/change.ts';
import { DELETING } from '../../model/profile-status.ts';
import { newReason } from '../../reasons/reasons.ts';
import { type Guard, type Obstacle, type ReconcileState, stop } from '../guards.ts';
import type { LiveRoleUsers, RoleInCluster, RoleSharers, RoleUsers } from './live-objects.ts';
import { settingsOfSharers, sharedRole } from './settings.ts';

// This folder finds the other users of a role that a change concerns, and their settings for it:
//
// - AWSFargateProfiles that want the role or have it in their record: the cached ones before the plan (settings.ts),
//   and a live list right before the change (live-objects.ts).
// - Fargate profiles that use the role, read from EKS.
// - Reconciles in this process that are changing the role right now. Within a namespace, they hold the role's lock
//   (`roleLocks` in reconcile.ts). Across namespaces, they hold a claim on the role (claims.ts).

export interface RoleUserServices {
  readonly roleUsers: LiveRoleUsers;
}

/**
 * Stops a change that needs a role while another manager may be deleting this role. Both managers list the role's
 * users: this manager after its object has got the finalizer, and the other after the deletion of its object has begun.
 * So at least one manager sees the other's object, and either the role is kept or this manager's object waits.
 *
 * Also stops a change if another manager's object with precedence wants other settings for the role, or if the change
 * may take permissions from a profile whose object no manager here has.
 */
export function roleShareable({ roleUsers }: RoleUserServices): Guard {
  const known = new WeakMap<ReconcileState, RoleSharers>();
  return async (mutation, reconcile) => {
    const { object, desired, observed, signal } = reconcile;
    const name = roleNeededFor(mutation, reconcile);
    if (name === undefined) return undefined;
    const found = known.get(reconcile) ?? (await roleUsers.sharersOf(inCluster(reconcile, name), object, signal));
    known.set(reconcile, found);
    if (found.possibleDeleter !== undefined && !hasProfile(reconcile)) {
      const other = `AWSFargateProfile ${found.possibleDeleter}`;
      return stop(newReason('WaitingForRoleDeletion', { name, other }));
    }
    if (desired.role?.kind !== 'managed') return undefined;
    const { roleConflict, keysOfOthers, unknownUsers } = settingsOfSharers(
      object,
      found.sharers,
      sharedRole(name, reconcile),
      observed.profiles,
    );
    if (roleConflict !== undefined) return stop(roleConflict);
    // The operator's limits apply to all pods.
    const isOfLimits = mutation.kind === 'setBoundary' && isBoundaryRequired(desired);
    const setting = isOfLimits ? undefined : settingTakenBy(mutation);
    const unknownUser = unknownUsers.find((each) => isUnknownToCache(desired, each));
    if (setting !== undefined && unknownUser !== undefined) {
      const { isSpecFixed } = desired;
      return stop(newReason('RoleSettingsConflict', { name, unknownUser, settings: [setting], isSpecFixed }));
    }
    return mutation.kind === 'untagRole' ? keepTags(mutation.keys, keysOfOthers) : undefined;
  };
}

const isBoundaryRequired = ({ limits, place }: Desired): boolean => requiredBoundary(limits, place) !== undefined;

/** The cache has this manager's objects. The live list has only the other managers' objects. */
const isUnknownToCache = ({ role }: Desired, profile: ProfileName): boolean =>
  role?.kind === 'managed' && role.unknownUsers.includes(profile);

/** The bookkeeping tags are kept too, because they record who has set the tags that are kept. */
function keepTags(keys: readonly string[], keysOfOthers: readonly string[]): Obstacle | undefined {
  const free = keys.filter((key) => !keysOfOthers.includes(foldCase(key)));
  return free.length === keys.length
    ? undefined
    : { kind: 'untagOnly', keys: free.filter((key) => !isAddedTagKey(key)) };
}

const inCluster = ({ target, desired }: ReconcileState, name: RoleName): RoleInCluster => ({
  name,
  location: { account: desired.place.account, region: desired.place.region, eksCluster: target.eksCluster },
});

function roleNeededFor(mutation: Mutation, { desired, observed }: ReconcileState): RoleName | undefined {
  const role = desired.role;
  if (role === undefined || isRoleRemoval(mutation)) return undefined;
  if (mutation.kind === 'deleteProfile' || mutation.kind === 'tagProfile' || mutation.kind === 'untagProfile')
    return undefined;
  const found = findRole(observed.roles, role.name);
  return role.kind === 'existing' || isManagedHere(desired, found) ? role.name : undefined;
}

/**
 * True if EKS has the desired profile. No manager deletes its role then, because each asks EKS for the role's users.
 */
const hasProfile = ({ desired, observed }: ReconcileState): boolean =>
  desired.profile !== undefined && findProfile(observed.profiles, desired.profile.name) !== undefined;

/**
 * Keeps a role that another object or profile uses. Also keeps the role's outdated access entry while another live
 * profile uses the role: the controller replaces the entry when the new profile is ACTIVE. A reconcile asks about each
 * role once, because the role's lock excludes this process's other reconciles. Even if the controller has computed the
 * role's name, EKS is asked, because a user may have chosen the role for a profile in the AWS console.
 */
export function roleUnused({ roleUsers }: RoleUserServices): Guard {
  const known = new WeakMap<ReconcileState, Map<RoleName, Obstacle | undefined>>();
  return async (mutation, reconcile) => {
    if (mutation.kind === 'deleteAccessEntry' && mutation.because === 'profileCreation')
      return findProfileUsing(reconcile, mutation.principal);
    if (!isRoleRemoval(mutation)) return undefined;
    const { name } = mutation;
    const ofReconcile = known.get(reconcile) ?? new Map<RoleName, Obstacle | undefined>();
    known.set(reconcile, ofReconcile);
    if (!ofReconcile.has(name)) ofReconcile.set(name, await findUser(roleUsers, reconcile, name));
    return ofReconcile.get(name);
  };
}

async function findUser(
  roleUsers: LiveRoleUsers,
  reconcile: ReconcileState,
  name: RoleName,
): Promise<Obstacle | undefined> {
  const users = await roleUsers.usersOf(inCluster(reconcile, name), reconcile.object, reconcile.signal);
  if (users.other !== undefined) return keepFor(`AWSFargateProfile ${users.other}`);
  const { cluster, roles } = reconcile.observed;
  return cluster === 'gone' ? undefined : findProfileUsing(reconcile, findRole(roles, name)?.arn, users.leaving);
}

/**
 * Returns `keep` if a profile uses the role. Returns `stop` if a call to AWS failed, if EKS is deleting the last such
 * profile, or if a new profile of this object has appeared.
 */
async function findProfileUsing(
  reconcile: ReconcileState,
  arn: RoleArn | undefined,
  leaving: RoleUsers['leaving'] = new Map(),
): Promise<Obstacle | undefined> {
  const { session, target, desired, observed } = reconcile;
  const unknown = (failure: AwsFailure): Obstacle => stop(reasonForFailure(failure, reconcile));
  const listing = await session.profiles.list(target.eksCluster);
  if (E.isLeft(listing)) return unknown(listing.left);
  if (listing.right.kind === 'clusterGone') return undefined;
  let obstacle: Obstacle | undefined;
  for (const profile of listing.right.names) {
    // EKS cannot change a profile's role, so a profile that was read with a different role does not use this one.
    const seen = findProfile(observed.profiles, profile);
    if (seen !== undefined && seen.podExecutionRoleArn !== arn) continue;
    const lookup = await session.profiles.describe(target.eksCluster, profile);
    if (E.isLeft(lookup)) return unknown(lookup.left);
    if (lookup.right.kind !== 'found' || lookup.right.profile.podExecutionRoleArn !== arn) continue;
    const { status, tags } = lookup.right.profile;
    const leaver = leaving.get(tagValue(tags, OWNER_TAG, keepCase) ?? '');
    if (leaver !== undefined) return keepFor(`AWSFargateProfile ${leaver}`);
    // A create request that no record contains has created the profile meanwhile. The next reconcile deletes the
    // profile first.
    if (seen === undefined && status !== DELETING && ownershipOf(desired, lookup.right.profile).kind === 'ours')
      return stop(newReason('ReadAgain', { because: `Fargate profile "${profile}" of this object has appeared` }));
    if (status !== DELETING) return keepFor(`Fargate profile "${profile}"`);
    obstacle = stop(newReason('DeletingProfile', { name: profile }));
  }
  return obstacle;
}

const keepFor = (by: string): Obstacle => ({ kind: 'keep', by });
