import { isRight } from 'fp-ts/lib/Either.js';
import type { RoleName } from '../../../api/names.ts';
import { type AWSFargateProfile, WATCH_FILTER_LABEL, decodeAWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { KubeClient } from '../../../pkg/kube/types.ts';
import { listLiveProfiles } from '../../shared/live-profiles.ts';
import { hasFinalizer, isDeleting } from '../../shared/object-state.ts';
import { findProfile, findRole } from '../model/observed-state.ts';
import { noteOf } from '../../shared/note.ts';
import { foldCase } from '../../../pkg/fargate/tags/tag-keys.ts';
import { tagKeysOf } from '../desired/desired.ts';
import { isInEksCluster } from '../desired/role-sharing.ts';
import { type Mutation, isRoleRemoval } from '../model/change.ts';
import { roleNameOf } from '../../shared/profile-names.ts';
import { newReason } from '../reasons/reasons.ts';
import { type Check, stop, type ReconcileState, type RoleSharers } from './guards.ts';
import type { RoleInCluster } from './checks/other-role-users.ts';

export type ReadRoleSharers = (
  object: AWSFargateProfile,
  role: RoleInCluster,
  signal: AbortSignal,
) => Promise<RoleSharers>;

/**
 * A manager without a watch filter reads nothing: its cache has all objects of the namespace, and its locks keep two
 * passes from changing one role.
 */
export function newReadRoleSharers(client: KubeClient, watchFilter: string | undefined): ReadRoleSharers {
  if (watchFilter === undefined) return async () => ({ possibleDeleter: undefined, sharers: [] });
  const labelSelector = `${WATCH_FILTER_LABEL}!=${watchFilter}`;
  return async (object, role, signal) => {
    const others: AWSFargateProfile[] = [];
    const scope = { namespace: object.metadata.namespace, labelSelector };
    for await (const item of listLiveProfiles(client, scope, signal)) {
      const decoded = decodeAWSFargateProfile(item);
      if (isRight(decoded) && item.metadata.uid !== object.metadata.uid) others.push(decoded.right);
    }
    const possibleDeleter = others.find((other) => mayBeDeletingRole(other, object, role));
    return {
      possibleDeleter: possibleDeleter && keyText(keyOf(possibleDeleter)),
      sharers: others.filter((other) => wants(other, role.name) && isInEksCluster(other, object, role.location)),
    };
  };
}

const wants = (object: AWSFargateProfile, role: RoleName): boolean =>
  !isDeleting(object) && isSameRoleName(roleNameOf(object), role);

/** Another manager may delete a role that it manages for `other` and that `other` does not ask for any more. */
function mayBeDeletingRole(
  other: AWSFargateProfile,
  object: AWSFargateProfile,
  { name, location }: RoleInCluster,
): boolean {
  if (!hasFinalizer(other) || wants(other, name)) return false;
  const noted = noteOf(other).roles.filter(({ managed }) => managed !== false);
  const own = [roleNameOf(other), ...noted.map((each) => each.name)];
  return isInEksCluster(other, object, location) && own.some((each) => isSameRoleName(each, name));
}

/**
 * Both managers list the users of the role: this one after its object has got the finalizer, the other after the
 * deletion of its object has begun. So at least one sees the other's object, and either the role stays or the object of
 * this manager waits.
 */
export function roleShareable({ readRoleSharers }: { readonly readRoleSharers: ReadRoleSharers }): Check {
  return async (mutation, pass) => {
    const { object, target, desired, signal } = pass;
    const name = roleNeededFor(mutation, pass);
    if (name === undefined) return undefined;
    const { account, region } = desired.place;
    const role = { name, location: { account, region, eksCluster: target.eksCluster } };
    const { possibleDeleter, sharers } = (pass.roleSharers ??= await readRoleSharers(object, role, signal));
    if (possibleDeleter !== undefined && !hasProfile(pass)) {
      const other = `AWSFargateProfile ${possibleDeleter}`;
      return stop(newReason('WaitingForRoleDeletion', { name, other }));
    }
    if (mutation.kind === 'untagRole' && mutation.keys.some((key) => tagKeysOf(sharers).includes(foldCase(key))))
      return { kind: 'keep', by: 'another AWSFargateProfile' };
    const reason = pass.roleConflictWith(sharers);
    return reason && stop(reason);
  };
}

function roleNeededFor(mutation: Mutation, { desired, observed }: ReconcileState): RoleName | undefined {
  const role = desired.wanted?.role;
  if (role === undefined || isRoleRemoval(mutation)) return undefined;
  if (mutation.kind === 'deleteProfile' || mutation.kind === 'tagProfile' || mutation.kind === 'untagProfile')
    return undefined;
  const found = findRole(observed.roles, role.name);
  const isForeign =
    role.kind === 'managed' && found !== undefined && roleOwnership(found, desired.identity).kind !== 'ours';
  return isForeign ? undefined : role.name;
}

/** Every manager asks EKS for the users of a role before it deletes the role, so that of an existing profile stays. */
const hasProfile = ({ desired, observed }: ReconcileState): boolean =>
  desired.wanted !== undefined && findProfile(observed.profiles, desired.wanted.profile.name) !== undefined;
