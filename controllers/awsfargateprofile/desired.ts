import * as E from 'fp-ts/lib/Either.js';
import { isSome, toUndefined } from 'fp-ts/lib/Option.js';
import type { AccountId, ProfileName, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { Place } from '../../pkg/fargate/arns.ts';
import { clusterArn, parseRoleArn, partitionOf, podExecutionPolicyArn, roleArn } from '../../pkg/fargate/arns.ts';
import { problemOfProfileName, problemOfRoleName, roleNameFor, roleNamesOfCapa } from '../../pkg/fargate/names.ts';
import { toSelectors } from '../../pkg/fargate/selectors.ts';
import type { Tags, TagsInvalid } from '../../pkg/fargate/tags.ts';
import { profileTags, roleTags } from '../../pkg/fargate/tags.ts';
import { trustPolicy } from '../../pkg/fargate/trust.ts';
import type {
  Desired,
  ObservedProfile,
  Owner,
  Records,
  Surplus,
  Surroundings,
  Target,
  WantedProfile,
  WantedRole,
} from './model.ts';
import type { Why } from './reasons.ts';
import { keyText } from '../../pkg/kube/paths.ts';
import { profileNameOf, roleNameOf } from './names.ts';
import { settingsConflict } from './sharing.ts';
import { why } from './reasons.ts';
import { whereaboutsOf } from './whereabouts.ts';

export interface Circumstances {
  readonly target: Target;
  /** Absent for a deletion. */
  readonly surroundings: Surroundings | undefined;
  readonly surplus: Surplus;
  readonly account: AccountId;
  /** Living objects of the same cluster that name the same role. */
  readonly sharers: readonly AWSFargateProfile[];
  /** A create was sent so recently, with its answer never seen, that "not found" does not prove absence yet. */
  readonly createUnseen: boolean;
}

/**
 * What the object wants in AWS. Without `surroundings` it wants nothing: a deletion.
 *
 * Left: the spec, or what it stands in, cannot be had; nothing is done about it in AWS.
 */
export function desiredBy(
  object: AWSFargateProfile,
  { target, surroundings, surplus, account, sharers, createUnseen }: Circumstances,
): E.Either<Why, Desired> {
  // As the endpoints: a control plane that names another partition than its region's would be taken at its word nowhere.
  const place: Place = { partition: partitionOf(target.region), region: target.region, account };
  const owner: Owner = {
    namespace: object.metadata.namespace,
    name: object.metadata.name,
    clusterName: target.clusterName,
    eksCluster: target.eksCluster,
    eksClusterArn: clusterArn(place, target.eksCluster),
    profileName: profileNameOf(object),
    namesOfCapa: roleNamesOfCapa({
      clusterName: target.clusterName,
      eksClusterName: target.eksCluster,
      profileName: profileNameOf(object),
    }),
  };
  const common = {
    owner,
    place,
    surplus,
    adopt: object.spec.adoptionPolicy ?? 'Owned',
    records: recordsOf(object, createUnseen),
    noCreation: surroundings?.noCreation,
  } as const;
  const recordedRole = common.records.roleManaged === false ? undefined : common.records.roleName;
  if (surroundings === undefined) {
    const names = {
      profiles: distinct([owner.profileName, common.records.profileName]),
      roles: distinct([roleNameOf(object), recordedRole, ...formerNames(object, recordedRole, owner)]),
    };
    return E.right({ ...common, names: possible(names), wanted: undefined });
  }
  const profile = wantedProfile(object, surroundings, owner);
  if (E.isLeft(profile)) return profile;
  const role = wantedRole(object, surroundings, owner, place, profile.right.name);
  if (E.isLeft(role)) return role;
  const names = {
    profiles: distinct([profile.right.name, common.records.profileName]),
    roles: distinct([role.right.name, recordedRole]),
  };
  const tagsOf = (sharer: AWSFargateProfile): Tags =>
    E.getOrElse((): Tags => ({}))(roleTags(owner.eksClusterArn, tagSources(sharer, surroundings, owner)));
  const conflict = settingsConflict(object, sharers, tagsOf);
  return E.right({
    ...common,
    names,
    wanted: { profile: profile.right, role: role.right },
    ...(conflict && { conflict }),
  });
}

/**
 * What is wanted, where the profile that is there uses a role under another of the names that Cluster API Provider AWS
 * gave: before v2.7.0 it computed them from the EKS cluster's name. A role that is in use keeps its name.
 */
export function withRoleInUse(desired: Desired, profiles: readonly ObservedProfile[]): Desired {
  const { wanted, owner, place } = desired;
  if (wanted?.role.kind !== 'managed' || wanted.role.named) return desired;
  const inUse = profiles.find(({ name }) => name === wanted.profile.name)?.found?.podExecutionRoleArn;
  const parts = inUse === undefined ? undefined : toUndefined(parseRoleArn(inUse));
  if (parts === undefined || parts.name === wanted.role.name || !owner.namesOfCapa.includes(parts.name)) return desired;
  const role = { ...wanted.role, name: parts.name, arn: roleArn(place, wanted.role.path, parts.name) };
  const roles = distinct([role.name, ...desired.names.roles.filter((name) => name !== wanted.role.name)]);
  return { ...desired, wanted: { ...wanted, role }, names: { ...desired.names, roles } };
}

/** Where nothing was recorded yet, the role may have any of the names that Cluster API Provider AWS gave. */
function formerNames({ spec }: AWSFargateProfile, recorded: RoleName | undefined, owner: Owner): readonly RoleName[] {
  return recorded === undefined && spec.roleName === undefined && spec.roleARN === undefined ? owner.namesOfCapa : [];
}

function recordsOf(object: AWSFargateProfile, createUnseen: boolean): Records {
  const { metadata, status = {} } = object;
  return {
    profileName: status.profileName,
    roleName: status.role?.name,
    roleManaged: status.role?.managed,
    roleId: status.role?.id,
    renewedFor: metadata.annotations?.[ACCESS_ENTRY_RENEWED_ANNOTATION],
    attachedPolicies: status.role?.attachedPolicies ?? [],
    tagKeys: status.tagKeys ?? [],
    provisioned: status.initialization?.provisioned === true,
    whereabouts: whereaboutsOf(object).kind,
    createRequested: status.createRequestedAt !== undefined,
    createUnseen,
  };
}

function wantedProfile(
  object: AWSFargateProfile,
  surroundings: Surroundings,
  owner: Owner,
): E.Either<Why, WantedProfile> {
  const { spec, status } = object;
  const name = profileNameOf(object);
  const problem = problemOfProfileName(name);
  if (problem !== undefined) {
    return invalid(
      spec.profileName === undefined
        ? `the computed Fargate profile name "${name}" cannot be used, set spec.profileName: ${problem}`
        : `spec.profileName: "${name}": ${problem}`,
    );
  }
  if (spec.selectors === undefined || spec.selectors.length === 0) {
    return invalid('spec.selectors: Fargate Profile requires at least one selector.');
  }
  // What a provisioned profile was given is what it keeps: a subnet that the control plane gains later changes nothing.
  const recorded = status?.initialization?.provisioned === true ? status.subnets : undefined;
  const subnets = firstFilled(spec.subnetIDs, recorded, surroundings.privateSubnets);
  if (subnets === undefined) {
    return E.left(why('NoPrivateSubnets', { controlPlane: keyText(surroundings.controlPlane) }));
  }
  return E.bimap(tagsInvalid, (tags: Tags): WantedProfile => ({
    name,
    subnets,
    selectors: toSelectors(spec.selectors ?? []),
    tags,
  }))(profileTags(owner, tagSources(object, surroundings, owner)));
}

function wantedRole(
  object: AWSFargateProfile,
  surroundings: Surroundings,
  owner: Owner,
  place: Place,
  profile: ProfileName,
): E.Either<Why, WantedRole> {
  const { spec } = object;
  if (spec.roleARN !== undefined) {
    const parts = parseRoleArn(spec.roleARN);
    if (!isSome(parts)) return invalid(`spec.roleARN: "${spec.roleARN}" is not the ARN of an IAM role`);
    return parts.value.account === place.account
      ? E.right({ kind: 'existing', name: parts.value.name, arn: spec.roleARN })
      : invalid(
          `spec.roleARN: the role is in account ${parts.value.account}, but EKS takes only roles of the cluster's own account, ${place.account}`,
        );
  }
  const name = spec.roleName ?? roleNameFor(owner.clusterName, profile);
  const problem = problemOfRoleName(name);
  if (problem !== undefined) {
    return invalid(
      spec.roleName === undefined
        ? `the computed role name cannot be used, set spec.roleName: ${problem}`
        : `spec.roleName: ${problem}`,
    );
  }
  const path = spec.rolePath ?? '/';
  return E.bimap(tagsInvalid, (tags: Tags): WantedRole => ({
    kind: 'managed',
    name,
    path,
    arn: roleArn(place, path, name),
    trust: trustPolicy({ ...place, cluster: owner.eksCluster }),
    policies: [...new Set([podExecutionPolicyArn(place.partition), ...(spec.roleAdditionalPolicies ?? [])])],
    tags,
    named: spec.roleName !== undefined,
    ...(spec.rolePermissionsBoundary !== undefined && { permissionsBoundary: spec.rolePermissionsBoundary }),
  }))(roleTags(owner.eksClusterArn, tagSources(object, surroundings, owner)));
}

const tagSources = (object: AWSFargateProfile, surroundings: Surroundings, owner: Owner) => ({
  clusterName: owner.clusterName,
  object: object.spec.additionalTags ?? {},
  controlPlane: surroundings.controlPlaneTags,
});

const invalid = (words: string): E.Either<Why, never> => E.left(why('InvalidSpec', { words }));
const tagsInvalid = ({ problems }: TagsInvalid): Why => why('TagsInvalid', { words: problems.join('; ') });
/** A name that AWS calls invalid is nobody's there: it is not asked for. */
const possible = (names: {
  readonly profiles: readonly ProfileName[];
  readonly roles: readonly RoleName[];
}): Desired['names'] => ({
  profiles: names.profiles.filter((name) => problemOfProfileName(name) === undefined),
  roles: names.roles.filter((name) => problemOfRoleName(name) === undefined),
});

const distinct = <A>(names: readonly (A | undefined)[]): readonly A[] => [
  ...new Set(names.filter((name) => name !== undefined)),
];
const firstFilled = (...lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined =>
  lists.find((list) => list !== undefined && list.length > 0);
