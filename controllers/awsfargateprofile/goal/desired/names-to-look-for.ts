import type { ProfileName, RoleName } from '../../../../api/names.ts';
import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import { type AwsLocation, clusterArn, parseRoleArn } from '../../../../pkg/fargate/arns.ts';
import {
  findProfileNameProblem,
  findRoleNameProblem,
  isSameRoleName,
  profileNameFor,
  roleNameFor,
  roleNamesOfCapa,
} from '../../../../pkg/fargate/names.ts';
import { type AdoptableNames, profileOwnership } from '../../../../pkg/fargate/ownership.ts';
import type { Desired, ObjectIdentity, RecordedState } from '../../model/desired-state.ts';
import type { Target, TargetSource } from '../../model/goal-kinds.ts';
import type { ObservedProfile } from '../../model/observed-state.ts';
import { isReplaceable } from '../../../shared/object-state.ts';
import { profileNameOf, roleNameOf } from '../../../shared/profile-names.ts';

export function identityOf(
  object: AWSFargateProfile,
  { target, targetSource }: { readonly target: Target; readonly targetSource: TargetSource },
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
 * Each name contains the namespace, or a hash of it. So a client that may write only the status of objects in one
 * namespace cannot make the controller adopt resources of another.
 */
function namesWithNamespace({ metadata }: AWSFargateProfile, { clusterName, eksCluster }: Target): AdoptableNames {
  const profile = profileNameFor(metadata);
  return { profile, roles: [roleNameFor(clusterName ?? eksCluster, profile)] };
}

export const namesWithRecorded = (profile: ProfileName, role: RoleName, recorded: RecordedState): Desired['names'] => ({
  profiles: distinct([profile, recorded.profileName]),
  roles: distinctRoles([role, recordedManagedRole(recorded)]),
});

/** Names that AWS would reject are left out: no resource can have them, and the call would fail. */
export function namesOnDeletion(
  object: AWSFargateProfile,
  { identity, recorded }: Pick<Desired, 'identity' | 'recorded'>,
): Desired['names'] {
  const recordedRole = recordedManagedRole(recorded);
  const { roleName, roleARN } = object.spec;
  // Without a recorded role, Cluster API Provider AWS may have created it under any of these names.
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

export function withReplacement(
  { profiles, roles }: Desired['names'],
  object: AWSFargateProfile,
  { identity, recorded }: Pick<Desired, 'identity' | 'recorded'>,
  observed: readonly ObservedProfile[],
): Desired['names'] {
  if (!isReplaceable(object)) return { profiles, roles };
  const ours = observed.flatMap(({ found }) =>
    found !== undefined && profileOwnership(found, identity).kind === 'ours' ? [found] : [],
  );
  return {
    profiles: distinct([...profiles, ...recorded.replacement.map(({ name }) => name), ...ours.map(({ name }) => name)]),
    roles: distinctRoles([
      ...roles,
      ...recorded.replacement.map(({ role }) => role),
      ...ours.map(({ podExecutionRoleArn }) => parseRoleArn(podExecutionRoleArn)?.name),
    ]),
  };
}

/** `undefined` if status says that the role belongs to another owner. */
const recordedManagedRole = ({ isRoleManaged, roleName }: RecordedState): RoleName | undefined =>
  isRoleManaged === false ? undefined : roleName;

/** IAM does not distinguish upper and lower case in names. */
export const distinctRoles = (names: readonly (RoleName | undefined)[]): readonly RoleName[] =>
  distinct(names).filter((name, index, all) => all.findIndex((each) => isSameRoleName(each, name)) === index);

const distinct = <A>(names: readonly (A | undefined)[]): readonly A[] => [
  ...new Set(names.filter((name) => name !== undefined)),
];
