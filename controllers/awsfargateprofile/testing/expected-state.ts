import { createHash } from 'node:crypto';
import type { AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { Reason } from '../reasons/reasons.ts';
import {
  CAPA_TAG,
  CLUSTER_ARN,
  EKS_CLUSTER,
  EKS_CLUSTER_TAG,
  NAMESPACE_TAG,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE_TAGS,
} from './builders.ts';
import type { SimulationResult } from './environment.ts';
import { PRIVATE_SUBNETS } from './environment.ts';
import type { SimulatedAws, SimulatedProfile, SimulatedRole, Snapshot } from './simulated-aws.ts';
import { roleArnOf } from './simulated-aws.ts';

// This file computes which AWS resources belong to the AWSFargateProfile `team-a/web` of Cluster `prod`, and which
// state of AWS its spec asks for. The file uses no code of the controller, so that a mistake of the controller cannot
// hide in the tests.

type Tags = Readonly<Record<string, string>>;

/** The name of the IAM role that Cluster API Provider AWS shares between the Fargate profiles of all clusters. */
export const SHARED_ROLE_OF_CAPA = 'eks-fargate.cluster-api-provider-aws.sigs.k8s.io';

/** The key of the tag in which a profile or role records what the controller has put on it. */
export const ADDED_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/added';

/** Returns the tag of a profile or role that records these additions of the controller, such as `tag team`. */
export const recordTag = (...additions: readonly string[]): Tags =>
  additions.length === 0 ? {} : { [ADDED_TAG]: additions.map(digestOf).toSorted().join('') };

export const isOnRecord = (tags: Tags, addition: string): boolean => recordedDigests(tags).includes(digestOf(addition));

export const recordedDigests = (tags: Tags): readonly string[] =>
  (tagValueIgnoringCase(tags, ADDED_TAG) ?? '').match(/.{12}/g) ?? [];

export const digestOf = (addition: string): string =>
  createHash('sha256').update(addition).digest('base64url').slice(0, 12);

export const expectedProfileName = (spec: AWSFargateProfileSpec): string => spec.profileName ?? PROFILE;

/** A spec, and the name of the IAM role that the AWSFargateProfile keeps although spec.roleName is absent. */
export type ExpectedSpec = AWSFargateProfileSpec & { readonly keptRole?: string };

/**
 * Adds to a spec the names of the Fargate profile and the role that the AWSFargateProfile keeps. Without
 * spec.profileName the object keeps the profile in status, as long as EKS has this profile and its owner tag names the
 * object. Without spec.roleName a provisioned object keeps the role in status, as long as the profile uses it.
 */
export function withNamesInUse(
  spec: AWSFargateProfileSpec,
  { profileName, role, initialization }: AWSFargateProfileStatus,
  { profiles }: Pick<Snapshot, 'profiles'>,
): ExpectedSpec {
  const profile = profileName === undefined ? undefined : profiles.get(profileName);
  const isKept = profile?.hidden === 0 && profile.tags[OWNER_TAG] === 'team-a/web';
  const named = spec.profileName === undefined && profileName !== undefined && isKept ? { ...spec, profileName } : spec;
  const inUse = profiles.get(expectedProfileName(named))?.podExecutionRoleArn.split('/').at(-1);
  const keepsRole =
    initialization?.provisioned === true &&
    inUse !== undefined &&
    role?.name?.toLowerCase() === inUse.toLowerCase() &&
    spec.roleName === undefined &&
    spec.roleARN === undefined;
  return keepsRole ? { ...named, keptRole: inUse } : named;
}

/**
 * The two names that Cluster API Provider AWS computes for the role of a Fargate profile: the name since v2.7.0, then
 * the name of older versions.
 */
const capaRoleNames = (spec: AWSFargateProfileSpec): readonly string[] =>
  ['prod', EKS_CLUSTER].map((cluster) => `${cluster}-${expectedProfileName(spec)}_fargate`);

export function isOurProfile(
  { name, tags }: Pick<SimulatedProfile, 'name' | 'tags'>,
  spec: AWSFargateProfileSpec,
): boolean {
  const owner = tags[OWNER_TAG];
  return owner === undefined
    ? tags[CAPA_TAG] === 'owned' && name === expectedProfileName(spec) && spec.adoptionPolicy !== 'Never'
    : owner === 'team-a/web';
}

export function isOurRole({ name, tags }: Pick<SimulatedRole, 'name' | 'tags'>, spec: AWSFargateProfileSpec): boolean {
  if (name.toLowerCase() === SHARED_ROLE_OF_CAPA) return false;
  const [cluster, namespace] = [EKS_CLUSTER_TAG, NAMESPACE_TAG].map((key) => tagValueIgnoringCase(tags, key));
  if ((cluster ?? CLUSTER_ARN) !== CLUSTER_ARN || (namespace ?? 'team-a') !== 'team-a') return false;
  if (cluster !== undefined && namespace !== undefined) return true;
  return tagValueIgnoringCase(tags, CAPA_TAG) === 'owned' && capaRoleNames(spec).includes(name);
}

/**
 * Whether a Fargate profile or role lacks the tags of this controller, so that the controller would have to adopt it.
 */
const isUnstamped = ({ tags }: { readonly tags: Tags }): boolean =>
  tags[OWNER_TAG] === undefined &&
  [EKS_CLUSTER_TAG, NAMESPACE_TAG].some((key) => tagValueIgnoringCase(tags, key) === undefined);

const isClaimed = (tags: Tags): boolean =>
  tags[OWNER_TAG] !== undefined ||
  Object.entries(tags).some(([key, value]) => key.startsWith('kubernetes.io/cluster/') && value === 'owned');

/**
 * Returns the name and path of the role that the spec asks for. The name can depend on the role that the existing
 * Fargate profile uses.
 */
export function expectedRole(spec: ExpectedSpec, aws: SimulatedAws): { readonly name: string; readonly path: string } {
  if (spec.roleARN !== undefined) {
    const [, path = '', name = ''] = /:role(\/(?:.+\/)?)([^/]+)$/.exec(spec.roleARN) ?? [];
    return { name, path };
  }
  const path = spec.rolePath ?? '/';
  if (spec.roleName !== undefined) return { name: spec.roleName, path };
  if (spec.keptRole !== undefined) return { name: spec.keptRole, path };
  const [computed = '', ...former] = capaRoleNames(spec);
  const inUse = aws.profiles.get(expectedProfileName(spec))?.podExecutionRoleArn;
  return { name: former.find((name) => inUse?.endsWith(`/${name}`)) ?? computed, path };
}

/** Returns the names that the managed role of the AWSFargateProfile can have. A new role gets the first name. */
export function possibleRoleNames({ roleARN, roleName, ...spec }: AWSFargateProfileSpec): readonly string[] {
  if (roleARN !== undefined) return [];
  return roleName === undefined ? capaRoleNames(spec) : [roleName];
}

/**
 * Returns the ARN of the pod execution role that the spec asks for. The name of an existing role is written as in IAM,
 * which may have other capital letters than spec.roleName. If the controller does not own the role that spec.roleName
 * names, the ARN has the path of that role and not spec.rolePath.
 */
export function expectedRoleArn(spec: ExpectedSpec, aws: SimulatedAws): string {
  const wanted = expectedRole(spec, aws);
  const found = aws.roles.get(wanted.name.toLowerCase());
  if (found === undefined || spec.roleARN !== undefined) return roleArnOf(wanted);
  const isForeign = spec.roleName !== undefined && !isOurRole(found, spec);
  return roleArnOf(isForeign || found.path === wanted.path ? found : wanted);
}

/**
 * Whether the fields of a Fargate profile that EKS cannot change are as the spec asks for: selectors, subnets and role.
 */
export function hasImmutableFieldsOfSpec(
  profile: SimulatedProfile,
  spec: ExpectedSpec,
  privateSubnets: readonly string[],
  aws: SimulatedAws,
) {
  const subnets = spec.subnetIDs ?? privateSubnets;
  const mayHaveAnySubnets = spec.subnetIDs === undefined && isOurProfile(profile, spec);
  return (
    profile.podExecutionRoleArn === expectedRoleArn(spec, aws) &&
    (mayHaveAnySubnets || sortedText(profile.subnets) === sortedText(subnets)) &&
    sortedText(profile.selectors.map(selectorText)) === sortedText((spec.selectors ?? []).map(selectorText))
  );
}

export const isAdoptable = (
  profile: SimulatedProfile,
  spec: ExpectedSpec,
  privateSubnets: readonly string[],
  aws: SimulatedAws,
): boolean =>
  spec.adoptionPolicy === 'Always' &&
  !isClaimed(profile.tags) &&
  profile.status === 'ACTIVE' &&
  hasImmutableFieldsOfSpec(profile, spec, privateSubnets, aws);

export interface ExpectedState {
  readonly spec: ExpectedSpec;
  readonly privateSubnets: readonly string[];
  readonly controlPlaneTags: Tags;
}

/** Returns one text for each difference between the simulated AWS and the spec of the AWSFargateProfile. */
export function findDeviations(
  { spec, privateSubnets, controlPlaneTags }: ExpectedState,
  aws: SimulatedAws,
): readonly string[] {
  const shortfalls: string[] = [];
  const expect = (isMet: boolean, what: string): void => void (isMet || shortfalls.push(what));
  const ownTags = spec.additionalTags ?? {};
  const tags = { ...controlPlaneTags, ...ownTags };

  const profile = aws.profiles.get(expectedProfileName(spec));
  expect(profile !== undefined && profile.hidden === 0, 'the profile is there');
  if (profile !== undefined) {
    expect(profile.status === 'ACTIVE', 'the profile is ACTIVE');
    expect(profile.tags[OWNER_TAG] === 'team-a/web', 'the profile is tagged as ours');
    expect(
      hasImmutableFieldsOfSpec(profile, spec, privateSubnets, aws),
      'the profile has role, subnets and selectors as wanted',
    );
    for (const [key, value] of Object.entries({ ...tags, ...PROFILE_TAGS })) {
      expect(profile.tags[key] === value, `the profile has the tag ${key}`);
    }
  }

  const role = aws.roles.get(expectedRole(spec, aws).name.toLowerCase());
  expect(role !== undefined, 'the role is there');
  if (role !== undefined) {
    expect(profile?.podExecutionRoleArn === roleArnOf(role), 'the profile uses the role that is there');
    if (spec.roleARN === undefined && isOurRole(role, spec)) {
      expect(role.path === (spec.rolePath ?? '/'), 'the role has the path');
      expect(isOwnTrustPolicy(role.trust), 'the role has our trust policy');
      for (const arn of [POD_EXECUTION_POLICY, ...(spec.roleAdditionalPolicies ?? [])]) {
        expect(role.attached.includes(arn), `the role has the policy ${arn}`);
      }
      expect(
        spec.rolePermissionsBoundary === undefined || role.boundary === spec.rolePermissionsBoundary,
        'the role has the boundary',
      );
      for (const [key, value] of Object.entries({
        ...withoutKeysOf(controlPlaneTags, ownTags),
        ...ownTags,
        ...ROLE_TAGS,
      })) {
        expect(tagValueIgnoringCase(role.tags, key) === value, `the role has the tag ${key}`);
      }
    } else {
      expect(spec.roleARN !== undefined || spec.roleName !== undefined, 'only a role named in the spec may be foreign');
      expect(trustsFargate(role.trust), 'the foreign role trusts Fargate');
    }
  }
  return shortfalls;
}

/** Returns one text for each reason for which pods of the Fargate profile could not start, without regard to tags. */
export function findDefects(
  spec: AWSFargateProfileSpec,
  { profileName, role: recorded }: AWSFargateProfileStatus,
  aws: SimulatedAws,
): readonly string[] {
  const profile = aws.profiles.get(profileName ?? expectedProfileName(spec));
  if (profile?.status !== 'ACTIVE') return ['the profile is not ACTIVE'];
  const role = [...aws.roles.values()].find((each) => roleArnOf(each) === profile.podExecutionRoleArn);
  if (role === undefined) return ['the role of the profile is not there'];
  const isManaged = recorded?.managed === true;
  return [
    ...((isManaged ? isOwnTrustPolicy(role.trust) : trustsFargate(role.trust)) ? [] : ['the trust policy is wrong']),
    ...(isManaged && !role.attached.includes(POD_EXECUTION_POLICY) ? ['the pod execution policy is not attached'] : []),
  ];
}

/**
 * Returns the subnets of the expected Fargate profile: those in status if it is provisioned, otherwise the private
 * subnets of the control plane.
 */
export const expectedSubnets = ({ initialization, subnets = [] }: AWSFargateProfileStatus): readonly string[] =>
  initialization?.provisioned === true && subnets.length > 0 ? subnets : PRIVATE_SUBNETS;

/**
 * Whether the state of the AWSFargateProfile and of AWS justifies the reason for which the last reconcile of a
 * simulation stopped.
 */
export function isStopJustified({ name, facts }: Reason, result: SimulationResult): boolean {
  const { aws, mode, status, creationBlocker, rolesUsedElsewhere } = result;
  const spec = mode === 'live' ? withNamesInUse(result.spec, status, aws) : result.spec;
  const subnets = expectedSubnets(result.status);
  const profile = aws.profiles.get(expectedProfileName(spec));
  const wanted = expectedRole(spec, aws);
  const role = aws.roles.get(wanted.name.toLowerCase());
  const isForeignRole = role !== undefined && (spec.roleARN !== undefined || !isOurRole(role, spec));
  const isForeignProfile = profile !== undefined && !isOurProfile(profile, spec);
  const isRoleInTheWay = isForeignRole && spec.roleName === undefined && spec.roleARN === undefined;
  switch (name) {
    case 'EKSClusterNotFound':
      return mode === 'live' && aws.cluster === 'gone';
    case 'AccountUncertain':
      return (
        mode === 'delete' && aws.cluster === 'gone' && result.plans.at(-1)?.desired.recorded.location === 'unknown'
      );
    case 'ProfileNotOwned':
      return isForeignProfile && !isAdoptable(profile, spec, subnets, aws) && !creationBlocker;
    case 'SpecDiffers': {
      const { profileName: recorded, initialization } = status;
      const isRenamed = recorded !== undefined && recorded !== expectedProfileName(spec) && aws.profiles.has(recorded);
      return (
        (initialization?.provisioned === true && isRenamed) ||
        (profile?.status === 'ACTIVE' && !hasImmutableFieldsOfSpec(profile, spec, subnets, aws))
      );
    }
    case 'OwnershipTagMissing': {
      const lacks = (tags: Tags, ...keys: readonly string[]): boolean =>
        keys.some((key) => tagValueIgnoringCase(tags, key) === undefined);
      const stripped = [
        ...[...aws.profiles.values()].filter((each) => !isOurProfile(each, spec) && lacks(each.tags, OWNER_TAG)),
        ...[...aws.roles.values()].filter(
          (each) => !isOurRole(each, spec) && lacks(each.tags, EKS_CLUSTER_TAG, NAMESPACE_TAG),
        ),
      ];
      return 'name' in facts && stripped.some((each) => each.name === facts.name);
    }
    case 'RoleNotOwned':
      return isRoleInTheWay && !creationBlocker;
    case 'RoleNotFound':
      return spec.roleARN === undefined
        ? role === undefined &&
            (wanted.name === SHARED_ROLE_OF_CAPA ||
              (status.role?.managed === false && status.role.name?.toLowerCase() === wanted.name.toLowerCase()))
        : role === undefined || roleArnOf(role) !== spec.roleARN;
    case 'RoleTrustInvalid':
      return isForeignRole && !trustsFargate(role.trust);
    case 'RoleSettingsConflict':
      // If a role of the controller has a wrong path, the controller replaces the role. So the wrong path is a conflict
      // only if another object or profile uses the role.
      return (
        role !== undefined &&
        role.path !== wanted.path &&
        (rolesUsedElsewhere.includes(wanted.name.toLowerCase()) ||
          [...aws.profiles.values()].some(
            (each) => each.podExecutionRoleArn === roleArnOf(role) && !isOurProfile(each, spec),
          ))
      );
    case 'RolePathNotMapped':
      return aws.authenticationMode === 'CONFIG_MAP' && (role?.path !== '/' || wanted.path !== '/');
    case 'RoleBlocked':
      return [...aws.roles.values()].some((each) => isOurRole(each, spec) && each.inline.length > 0);
    case 'RoleRecreated':
      return role !== undefined && status.role?.id !== role.id && aws.authenticationMode !== 'CONFIG_MAP';
    case 'UnknownProfileStatus':
      return [...aws.profiles.values()].some((each) => each.status === 'PAUSED_BY_EKS' && isOurProfile(each, spec));
    case 'RetainBlocksClusterDeletion':
      return (
        mode === 'retain' &&
        [...aws.profiles.values()].some((each) => isOurProfile(each, spec) || each.tags[OWNER_TAG] === undefined)
      );
    case 'WaitingForEKSControlPlane':
      return (
        creationBlocker &&
        mode === 'live' &&
        (profile === undefined ||
          role === undefined ||
          isForeignProfile ||
          isRoleInTheWay ||
          isUnstamped(profile) ||
          [...aws.roles.values()].some((each) => isOurRole(each, spec) && isUnstamped(each)))
      );
    default:
      throw new Error(`unexpected reason at the end of a simulation: ${name} ${JSON.stringify(facts)}`);
  }
}

/**
 * Whether the controller writes this trust policy. A comparison of texts is enough, because the simulations use only
 * the policies in {@link TRUST_POLICIES}.
 */
const isOwnTrustPolicy = (trust: string): boolean =>
  trust === TRUST_POLICIES.ours || trust === TRUST_POLICIES.oursReordered;
export const trustsFargate = (trust: string): boolean => isOwnTrustPolicy(trust) || trust === TRUST_POLICIES.wide;

const statement = {
  Effect: 'Allow',
  Principal: { Service: 'eks-fargate-pods.amazonaws.com' },
  Action: 'sts:AssumeRole',
};
const sourceArn = `arn:aws:eks:eu-west-1:111122223333:fargateprofile/${EKS_CLUSTER}/*`;
const policy = (...statements: readonly object[]): string =>
  JSON.stringify({ Version: '2012-10-17', Statement: statements });

export const TRUST_POLICIES = {
  ours: policy({
    Effect: 'Allow',
    Condition: { ArnLike: { 'aws:SourceArn': sourceArn } },
    Principal: { Service: 'eks-fargate-pods.amazonaws.com' },
    Action: 'sts:AssumeRole',
  }),
  /** The trust policy that the controller sets, with its fields in another order and with lists of one element. */
  oursReordered: policy({
    Action: ['sts:AssumeRole'],
    Principal: { Service: ['eks-fargate-pods.amazonaws.com'] },
    Effect: 'Allow',
    Condition: { ArnLike: { 'aws:SourceArn': [sourceArn] } },
  }),
  /** A trust policy that EKS accepts, but that allows more than the trust policy of the controller. */
  wide: policy(statement),
  forNodes: policy({ ...statement, Principal: { Service: 'ec2.amazonaws.com' } }),
  garbage: 'not a policy',
} as const;

const sortedText = (texts: readonly string[]): string => JSON.stringify([...new Set(texts)].toSorted());

const selectorText = ({ namespace, labels = {} }: { namespace?: string; labels?: Tags }): string =>
  JSON.stringify([namespace, sortedText(Object.entries(labels).map(([key, value]) => `${key}=${value}`))]);

const tagValueIgnoringCase = (tags: Tags, key: string): string | undefined =>
  Object.entries(tags).find(([candidate]) => candidate.toLowerCase() === key.toLowerCase())?.[1];

const withoutKeysOf = (tags: Tags, others: Tags): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => tagValueIgnoringCase(others, key) === undefined));
