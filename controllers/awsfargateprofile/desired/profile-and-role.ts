import * as E from 'fp-ts/lib/Either.js';
import { keyText } from 'controller-runtime/client';
import type { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { type AwsLocation, parseRoleArn, podExecutionPolicyArn, roleArn } from '../../../pkg/fargate/arns.ts';
import { findPolicyExcess, requiredBoundary } from '../../../pkg/fargate/operator-limits.ts';
import { findProfileNameProblem, findRoleNameProblem, roleNameFor } from '../../../pkg/fargate/names.ts';
import { toSelectors } from '../../../pkg/fargate/selectors.ts';
import { rolePathOf } from '../../shared/profile-names.ts';
import { boundaryAddition, policyAddition } from '../../../pkg/fargate/tags/tag-drift.ts';
import { type TagsToSet, profileTags, roleTags } from '../../../pkg/fargate/tags/tags-to-set.ts';
import { trustPolicy } from '../../../pkg/fargate/trust-policy.ts';
import type {
  Desired,
  ExistingRole,
  ObjectIdentity,
  DesiredProfile,
  DesiredRole,
  SharersSettings,
} from '../model/desired-state.ts';
import type { CreationFacts } from '../goal/target.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';

export function desiredProfile(
  object: AWSFargateProfile,
  creationFacts: CreationFacts,
  identity: ObjectIdentity,
  { name, isThere }: { readonly name: ProfileName; readonly isThere: boolean },
): E.Either<Reason, DesiredProfile> {
  const { spec } = object;
  const problem = findProfileNameProblem(name);
  if (problem !== undefined) {
    return invalid(
      spec.profileName === undefined
        ? `spec.profileName is not set, and EKS does not allow the computed name "${name}": ${problem}`
        : `spec.profileName: EKS does not allow the name "${name}": ${problem}`,
    );
  }
  if (spec.selectors === undefined || spec.selectors.length === 0) {
    return invalid('spec.selectors is empty, but a Fargate profile requires at least one selector');
  }
  const subnets = desiredSubnets(object, creationFacts, isThere);
  if (subnets === undefined) {
    const { controlPlane } = creationFacts;
    return E.left(
      newReason('NoPrivateSubnets', { controlPlane: controlPlane === undefined ? '' : keyText(controlPlane) }),
    );
  }
  return E.bimap(tagsInvalid, ({ tags, additions }: TagsToSet): DesiredProfile => ({
    name,
    ...subnets,
    selectors: toSelectors(spec.selectors ?? []),
    tags,
    additions,
  }))(profileTags(identity, object, creationFacts.controlPlaneTags));
}

export function desiredRole(
  object: AWSFargateProfile,
  creationFacts: CreationFacts,
  { identity, place, limits }: Pick<Desired, 'identity' | 'place' | 'limits'>,
  {
    inUse,
    sharersSettings = () => NO_SHARERS,
  }: {
    /** The existing profile's role, if that role replaces the computed name. */
    readonly inUse: RoleName | undefined;
    readonly sharersSettings: ((role: RoleName) => SharersSettings) | undefined;
  },
): E.Either<Reason, DesiredRole> {
  const { spec } = object;
  if (spec.roleARN !== undefined) return existingRole(spec.roleARN, place);
  const name = spec.roleName ?? inUse ?? roleNameFor(identity.clusterName ?? identity.eksCluster, identity.profileName);
  const problem = findRoleNameProblem(name);
  if (problem !== undefined) {
    return invalid(
      spec.roleName === undefined
        ? `spec.roleName is not set, and IAM does not allow the computed name: ${problem}`
        : `spec.roleName: ${problem}`,
    );
  }
  const path = rolePathOf(object);
  const boundary = requiredBoundary(limits, place);
  const permissionsBoundary = boundary ?? spec.rolePermissionsBoundary;
  const isBoundaryFromLimits = boundary !== undefined && boundary !== spec.rolePermissionsBoundary;
  const { roleAdditionalPolicies: policiesInSpec = [] } = spec;
  const allowed = policiesInSpec.filter((arn) => findPolicyExcess(limits, '', arn).length === 0);
  return E.bimap(tagsInvalid, ({ tags, additions }: TagsToSet): DesiredRole => ({
    kind: 'managed',
    name,
    path,
    arn: roleArn(place, path, name),
    trust: trustPolicy({ ...place, cluster: identity.eksCluster }),
    policies: [...new Set([podExecutionPolicyArn(place.partition), ...allowed])],
    tags,
    isNamedInSpec: spec.roleName !== undefined,
    isBoundaryFromLimits,
    policiesInSpec,
    ...sharersSettings(name),
    additions: [
      ...additions,
      ...allowed.map(policyAddition),
      ...(permissionsBoundary === undefined || isBoundaryFromLimits ? [] : [boundaryAddition(permissionsBoundary)]),
    ],
    ...(permissionsBoundary !== undefined && { permissionsBoundary }),
  }))(roleTags(identity, object, creationFacts.controlPlaneTags));
}

const NO_SHARERS: SharersSettings = { roleConflict: undefined, keysOfOthers: [], unknownUsers: [] };

function existingRole(arn: RoleArn, { account }: AwsLocation): E.Either<Reason, ExistingRole> {
  const parts = parseRoleArn(arn);
  if (parts === undefined) return invalid(`spec.roleARN "${arn}" is not the ARN of an IAM role`);
  return parts.account === account
    ? E.right({ kind: 'existing', name: parts.name, arn })
    : invalid(
        `spec.roleARN names a role in account ${parts.account}, but EKS accepts only roles in the EKS cluster's account, ${account}`,
      );
}

const invalid = (detail: string): E.Either<Reason, never> => E.left(newReason('InvalidSpec', { detail }));
const tagsInvalid = (problems: readonly string[]): Reason => newReason('TagsInvalid', { detail: problems.join('; ') });

/**
 * Returns `undefined` if the profile needs the control plane's private subnets and there are none. EKS cannot change an
 * existing profile's subnets, so any subnets are accepted unless the spec sets some.
 */
function desiredSubnets(
  { spec }: AWSFargateProfile,
  { privateSubnets }: CreationFacts,
  isThere: boolean,
): Pick<DesiredProfile, 'subnets' | 'subnetSource'> | undefined {
  if (isFilled(spec.subnetIDs)) return { subnets: spec.subnetIDs, subnetSource: 'spec' };
  if (privateSubnets === undefined) return { subnets: [], subnetSource: 'eks' };
  return isFilled(privateSubnets) || isThere ? { subnets: privateSubnets, subnetSource: 'controlPlane' } : undefined;
}

const isFilled = (list: readonly string[] | undefined): list is readonly string[] => (list?.length ?? 0) > 0;
