import * as E from 'fp-ts/lib/Either.js';
import type { AccountId, ProfileName, RoleName } from '../../../../api/names.ts';
import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import { ACCESS_ENTRY_DELETED_ANNOTATION, ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../../../api/v1beta2/index.ts';
import type { AwsLocation } from '../../../../pkg/fargate/arns.ts';
import { clusterArn, parseRoleArn, partitionOf, roleArn } from '../../../../pkg/fargate/arns.ts';
import {
  findProfileNameProblem,
  findRoleNameProblem,
  isSameRoleName,
  profileNameFor,
  roleNameFor,
  roleNamesOfCapa,
} from '../../../../pkg/fargate/names.ts';
import { NO_LIMITS } from '../../../../pkg/fargate/operator-limits.ts';
import type { OperatorLimits } from '../../../../pkg/fargate/operator-limits.ts';
import { requiredBoundary } from '../../../../pkg/fargate/required-permissions-boundary.ts';
import type { AdoptableNames } from '../../../../pkg/fargate/ownership.ts';
import { profileOwner } from '../../../../pkg/fargate/ownership.ts';
import type { Tags } from '../../../../pkg/fargate/tags/tag-map.ts';
import { roleTags, tagSources } from '../../../../pkg/fargate/tags/tags-to-set.ts';
import type { Desired, ObjectIdentity, RecordedState } from '../../model/desired-state.ts';
import type { ControlPlaneFacts, Surplus, Target, TargetSource } from '../../model/goal-kinds.ts';
import { locationOf } from '../../model/location.ts';
import { currentProfileNameOf, profileNameOf, roleNameOf } from '../../model/names.ts';
import type { ObservedProfile } from '../../model/observed-state.ts';
import type { Abandonment } from '../../reasons/wording/abandonment.ts';
import type { Reason } from '../../reasons/reasons.ts';
import { findExcess } from './check-spec-against-operator-limits.ts';
import { isInPlace, roleSettingsConflict } from './role-sharing.ts';
import { wantedProfile, wantedRole } from './wanted-profile-and-role.ts';

export interface DesiredInputs {
  readonly target: Target;
  readonly targetSource: TargetSource;
  /**
   * Facts from the AWSManagedControlPlane. `undefined` while the object is being deleted, because a deletion needs no
   * facts.
   */
  readonly controlPlaneFacts: ControlPlaneFacts | undefined;
  readonly surplus: Surplus;
  readonly abandonment?: Abandonment | undefined;
  readonly account: AccountId;
  readonly limits: OperatorLimits;
  /** Other AWSFargateProfiles of the Cluster that name the same IAM role and are not being deleted. */
  readonly roleSharers: readonly AWSFargateProfile[];
  /** Whether a create request for the Fargate profile was sent less than a minute ago and its result is not known. */
  readonly isCreateUnconfirmed: boolean;
}

/**
 * Returns the state of AWS that the spec of an AWSFargateProfile asks for. An object that is being deleted, for which
 * `controlPlaneFacts` is `undefined`, asks for no profile and no role.
 *
 * Returns Left if AWS cannot fulfil the spec, for example because of invalid names or tags, or without a private
 * subnet.
 */
export function desiredFor(object: AWSFargateProfile, inputs: DesiredInputs): E.Either<Reason, Desired> {
  const current = currentProfileNameOf(object);
  const computed = profileNameOf(object);
  const desired = desiredUnderName(current, object, inputs);
  if (current === computed || inputs.controlPlaneFacts === undefined) return desired;
  const otherwise = desiredUnderName(computed, object, inputs);
  return E.map((keeping: Desired) => {
    const identity = identityOf(object, inputs, keeping.place, current);
    return { ...keeping, nameInStatus: { identity, otherwise } };
  })(desired);
}

/**
 * Returns the desired state with the Fargate profile's final name, once the existing profiles have been read. If
 * spec.profileName is absent, the object keeps the profile whose name status records, as long as the owner tag of that
 * profile names the object.
 *
 * Returns Left if EKS or IAM would reject a computed name.
 */
export function withProfileNameInUse(
  desired: Desired,
  profiles: readonly ObservedProfile[],
): E.Either<Reason, Desired> {
  const { wanted, nameInStatus } = desired;
  if (nameInStatus === undefined) return E.right(desired);
  const found = profiles.find(({ name }) => name === wanted?.profile.name)?.found;
  return found !== undefined && profileOwner(found, desired.identity).kind === 'ours'
    ? E.right({ ...desired, identity: nameInStatus.identity })
    : nameInStatus.otherwise;
}

function desiredUnderName(
  profileName: ProfileName,
  object: AWSFargateProfile,
  inputs: DesiredInputs,
): E.Either<Reason, Desired> {
  const { target, controlPlaneFacts, surplus, abandonment, account } = inputs;
  // The AWS partition follows from the region, as it does for the endpoints of EKS and IAM. The AWSManagedControlPlane
  // names a partition too, but that one is not used.
  const place: AwsLocation = { partition: partitionOf(target.region), region: target.region, account };
  const identity = identityOf(object, inputs, place, profileNameOf(object));
  const common = {
    identity,
    place,
    surplus,
    abandonment,
    isClusterLeaving: abandonment === 'removeFinalizer',
    adoptionPolicy: object.spec.adoptionPolicy ?? 'Owned',
    recorded: recordedStateOf(object, identity, inputs),
    creationBlocker: controlPlaneFacts?.creationBlocker,
    // The operator's limits (flags of the manager) do not block the deletion of an object.
    limits: controlPlaneFacts === undefined ? NO_LIMITS : inputs.limits,
    excess: controlPlaneFacts === undefined ? [] : findExcess(object.spec, inputs.limits, place),
  } as const;
  if (controlPlaneFacts === undefined) {
    return E.right({ ...common, names: namesOnDeletion(object, common), wanted: undefined });
  }
  const profile = wantedProfile(object, controlPlaneFacts, identity, profileName);
  if (E.isLeft(profile)) return profile;
  const role = wantedRole(object, controlPlaneFacts, { identity, place, limits: inputs.limits }, profileName);
  if (E.isLeft(role)) return role;
  const names = {
    profiles: distinct([profile.right.name, common.recorded.profileName]),
    roles: distinctRoles([role.right.name, recordedManagedRole(common.recorded)]),
  };
  const tagsOf = (sharer: AWSFargateProfile): Tags =>
    E.getOrElse((): Tags => ({}))(roleTags(identity, tagSources(sharer, controlPlaneFacts, identity)));
  const boundaryOf = ({ spec }: AWSFargateProfile): string | undefined =>
    requiredBoundary(inputs.limits, place) ?? spec.rolePermissionsBoundary;
  const roleSharers = inputs.roleSharers.filter((sharer) => isInPlace(sharer, object, place));
  const roleConflict = roleSettingsConflict(object, roleSharers, { tagsOf, boundaryOf });
  return E.right({
    ...common,
    names,
    wanted: { profile: profile.right, role: role.right },
    ...(roleConflict && { roleConflict }),
  });
}

/**
 * Replaces the computed role name by the name of the IAM role that the existing Fargate profile uses, because EKS
 * cannot change the role of a profile. The name is replaced in two cases:
 *
 * - Cluster API Provider AWS (CAPA) computed the name in use. Before v2.7.0, CAPA derived role names from the name of
 *   the EKS cluster.
 * - Status of a provisioned object records the name in use. Then a client has removed spec.roleName.
 */
export function withCurrentRoleName(desired: Desired, profiles: readonly ObservedProfile[]): Desired {
  const { wanted, identity, place, recorded } = desired;
  if (wanted?.role.kind !== 'managed' || wanted.role.isNamedInSpec) return desired;
  const inUse = profiles.find(({ name }) => name === wanted.profile.name)?.found?.podExecutionRoleArn;
  const parts = inUse === undefined ? undefined : parseRoleArn(inUse);
  if (parts === undefined || parts.name === wanted.role.name) return desired;
  const isKept = recorded.isProvisioned && isSameRoleName(recorded.roleName, parts.name);
  if (!isKept && !identity.capaRoleNames.includes(parts.name)) return desired;
  const role = { ...wanted.role, name: parts.name, arn: roleArn(place, wanted.role.path, parts.name) };
  const roles = distinctRoles([role.name, ...desired.names.roles.filter((name) => name !== wanted.role.name)]);
  return { ...desired, wanted: { ...wanted, role }, names: { ...desired.names, roles } };
}

function identityOf(
  object: AWSFargateProfile,
  { target, targetSource }: Pick<DesiredInputs, 'target' | 'targetSource'>,
  place: AwsLocation,
  profileName: ProfileName,
): ObjectIdentity {
  const capaRoleNames = roleNamesOfCapa({
    clusterName: target.clusterName,
    eksClusterName: target.eksCluster,
    profileName,
  });
  return {
    namespace: object.metadata.namespace,
    name: object.metadata.name,
    clusterName: target.clusterName,
    eksCluster: target.eksCluster,
    eksClusterArn: clusterArn(place, target.eksCluster),
    profileName,
    capaRoleNames,
    adoptable:
      targetSource === 'controlPlane'
        ? { profile: profileName, roles: capaRoleNames }
        : namesWithNamespace(object, target),
  };
}

/**
 * Returns the profile name and role name that Cluster API Provider AWS computes from namespace and name of the object.
 * Each name contains the namespace. So a client that may write only the status of objects in one namespace cannot make
 * the controller adopt resources of another namespace.
 */
function namesWithNamespace({ metadata }: AWSFargateProfile, { clusterName, eksCluster }: Target): AdoptableNames {
  const profile = profileNameFor(metadata);
  return { profile, roles: [roleNameFor(clusterName ?? eksCluster, profile)] };
}

function recordedStateOf(
  object: AWSFargateProfile,
  identity: ObjectIdentity,
  { targetSource, isCreateUnconfirmed }: Pick<DesiredInputs, 'targetSource' | 'isCreateUnconfirmed'>,
): RecordedState {
  const { metadata, status = {} } = object;
  // While an IAM role belongs to another owner, this controller changes neither its policies nor its permissions
  // boundary. So the policies and the boundary in `status.role` of such a role are not the work of this controller, and
  // are left out.
  const ours = status.role?.managed === false ? undefined : status.role;
  return {
    profileName: status.profileName,
    profileARN: status.profileARN,
    lostNames: lostNamesOf(object, identity),
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

/**
 * Returns the name of the IAM role that status records; `undefined` if status says that the role belongs to another
 * owner.
 */
const recordedManagedRole = ({ isRoleManaged, roleName }: RecordedState): RoleName | undefined =>
  isRoleManaged === false ? undefined : roleName;

/**
 * Returns the names under which the Fargate profile and the IAM role to delete may exist in AWS. Names that AWS would
 * reject as invalid are left out: no resource can have them, and the call would fail.
 */
function namesOnDeletion(
  object: AWSFargateProfile,
  { identity, recorded }: Pick<Desired, 'identity' | 'recorded'>,
): Desired['names'] {
  const recordedRole = recordedManagedRole(recorded);
  const { roleName, roleARN } = object.spec;
  // If no role is recorded in status, Cluster API Provider AWS may have created the role under any of the names that it
  // computes.
  const capaRoles: readonly RoleName[] =
    recordedRole === undefined && roleName === undefined && roleARN === undefined ? identity.capaRoleNames : [];
  // If a client removed spec.profileName, the name of the role may derive from the computed profile name.
  const computedRole =
    roleName === undefined && roleARN === undefined
      ? roleNameFor(identity.clusterName ?? identity.eksCluster, profileNameOf(object))
      : undefined;
  return {
    profiles: distinct([identity.profileName, recorded.profileName]).filter(
      (name) => findProfileNameProblem(name) === undefined,
    ),
    roles: distinctRoles([roleNameOf(object), computedRole, recordedRole, ...capaRoles]).filter(
      (name) => findRoleNameProblem(name) === undefined,
    ),
  };
}

/** Returns the role names without repetitions. IAM does not distinguish upper and lower case in names. */
const distinctRoles = (names: readonly (RoleName | undefined)[]): readonly RoleName[] =>
  distinct(names).filter((name, index, all) => all.findIndex((each) => isSameRoleName(each, name)) === index);

const distinct = <A>(names: readonly (A | undefined)[]): readonly A[] => [
  ...new Set(names.filter((name) => name !== undefined)),
];
