import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../../api/v1beta2/index.ts';
import { parseTimestamp } from '../../../../pkg/env/timestamp.ts';
import { ACCESS_ENTRY_DELETED_ANNOTATION, ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../../../api/v1beta2/index.ts';
import type { ObjectIdentity, RecordedState } from '../../model/desired-state.ts';
import type { TargetSource } from '../../model/goal-kinds.ts';
import { locationOf } from '../../model/location.ts';
import { recordedReplacement, requestedNameOf } from '../../model/replacement.ts';

/** `isRefused`: the operator's limits do not allow the EKS cluster that the object names. */
export function recordedStateOf(
  object: AWSFargateProfile,
  identity: ObjectIdentity,
  {
    targetSource,
    isCreateUnconfirmed,
    isRefused,
  }: { readonly targetSource: TargetSource; readonly isCreateUnconfirmed: boolean; readonly isRefused: boolean },
): RecordedState {
  const { metadata, status = {} } = object;
  // The controller changes nothing of a role of another owner, so it did not set what status records for such a role.
  const ours = status.role?.managed === false ? undefined : status.role;
  return {
    profileName: status.profileName,
    requestedName: requestedNameOf(object),
    replacement: recordedReplacement(object),
    activeSince: activeSinceOf(status),
    isQuotaExceeded: status.conditions?.find(({ type }) => type === 'Ready')?.reason === 'QuotaExceeded',
    profileARN: status.profileARN,
    // No annotation must make the controller tell what exists in an EKS cluster that the namespace may not use.
    lostNames: isRefused ? { profiles: [], roles: [] } : lostNamesOf(object, identity),
    isUnproven: targetSource === 'unreadyControlPlane' && locationOf(object).kind !== 'none',
    roleName: status.role?.name,
    isRoleManaged: status.role?.managed,
    roleId: status.role?.id,
    accessEntryRenewedFor: metadata.annotations?.[ACCESS_ENTRY_RENEWED_ANNOTATION],
    accessEntryCheckedFor: status.role?.accessEntryCheckedFor,
    accessEntryDeletedOf: metadata.annotations?.[ACCESS_ENTRY_DELETED_ANNOTATION],
    attachedPolicies: ours?.attachedPolicies ?? [],
    permissionsBoundary: ours?.permissionsBoundary,
    tagKeys: status.tagKeys ?? [],
    isProvisioned: status.initialization?.provisioned === true,
    location: locationOf(object).kind,
    isCreateRequested: status.createRequestedAt !== undefined,
    isCreateUnconfirmed,
  };
}

function activeSinceOf({ activeSince }: AWSFargateProfileStatus): RecordedState['activeSince'] {
  const { name = '', time = '' } = activeSince ?? {};
  const since = parseTimestamp(time);
  return since === undefined ? undefined : { name, time: since };
}

function lostNamesOf(
  object: AWSFargateProfile,
  { profileName, capaRoleNames }: ObjectIdentity,
): RecordedState['lostNames'] {
  const { spec, status = {} } = object;
  if (locationOf(object).kind !== 'known') return { profiles: [], roles: [] };
  const isProfileRecorded = [status.account, status.profileName, status.profileARN].some((each) => each !== undefined);
  const isRoleRecorded = [spec.roleName, spec.roleARN, status.role?.name].some((each) => each !== undefined);
  return { profiles: isProfileRecorded ? [] : [profileName], roles: isRoleRecorded ? [] : capaRoleNames };
}
