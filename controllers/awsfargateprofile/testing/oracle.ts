import type { AWSFargateProfileSpec } from '../../../api/v1beta2/index.ts';
import {
  CAPA_TAG,
  CLUSTER_ARN,
  EKS_CLUSTER,
  EKS_CLUSTER_TAG,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE_TAGS,
} from './builders.ts';
import type { SimulatedAws, SimulatedProfile, SimulatedRole } from './simulated-aws.ts';
import { roleArnOf } from './simulated-aws.ts';

// What is right, said a second time and in the plainest way, for the code to be compared with: whose a thing in AWS is,
// and whether AWS is as the object `team-a/web` of Cluster `prod` wants it.

export type Spec = AWSFargateProfileSpec;
type Tags = Readonly<Record<string, string>>;

/** The role that Cluster API Provider AWS shares between profiles. */
export const SHARED_ROLE_OF_CAPA = 'eks-fargate.cluster-api-provider-aws.sigs.k8s.io';

export const profileNameIn = (spec: Spec): string => spec.profileName ?? PROFILE;

/** From Cluster API Provider AWS v2.7.0 on, and before. */
const capaRoleNames = (spec: Spec): readonly string[] =>
  ['prod', EKS_CLUSTER].map((cluster) => `${cluster}-${profileNameIn(spec)}_fargate`);

export function isOurProfile({ name, tags }: Pick<SimulatedProfile, 'name' | 'tags'>, spec: Spec): boolean {
  const owner = tags[OWNER_TAG];
  return owner === undefined
    ? tags[CAPA_TAG] === 'owned' && name === profileNameIn(spec) && spec.adoptionPolicy !== 'Never'
    : owner === 'team-a/web';
}

export function isOurRole({ name, tags }: Pick<SimulatedRole, 'name' | 'tags'>, spec: Spec): boolean {
  if (name.toLowerCase() === SHARED_ROLE_OF_CAPA) return false;
  const cluster = ignoringCase(tags, EKS_CLUSTER_TAG);
  return cluster === undefined
    ? ignoringCase(tags, CAPA_TAG) === 'owned' && capaRoleNames(spec).includes(name)
    : cluster === CLUSTER_ARN;
}

const isClaimed = (tags: Tags): boolean =>
  tags[OWNER_TAG] !== undefined ||
  Object.entries(tags).some(([key, value]) => key.startsWith('kubernetes.io/cluster/') && value === 'owned');

/** The role that the object wants to be there, given which one its profile uses now. */
export function roleIn(spec: Spec, aws: SimulatedAws): { readonly name: string; readonly path: string } {
  if (spec.roleARN !== undefined) {
    const [, path = '', name = ''] = /:role(\/(?:.+\/)?)([^/]+)$/.exec(spec.roleARN) ?? [];
    return { name, path };
  }
  const path = spec.rolePath ?? '/';
  if (spec.roleName !== undefined) return { name: spec.roleName, path };
  const [computed = '', ...former] = capaRoleNames(spec);
  const inUse = aws.profiles.get(profileNameIn(spec))?.podExecutionRoleArn;
  return { name: former.find((name) => inUse?.endsWith(`/${name}`)) ?? computed, path };
}

/** Each name that a role of the object can have; the first is the one that a role gets that is made now. */
export function roleNamesIn({ roleARN, roleName, ...spec }: Spec): readonly string[] {
  if (roleARN !== undefined) return [];
  return roleName === undefined ? capaRoleNames(spec) : [roleName];
}

/** The ARN under which the profile is to have its role: a foreign one that is named is used where it is. */
export function wantedRoleArn(spec: Spec, aws: SimulatedAws): string {
  const wanted = roleIn(spec, aws);
  const found = aws.roles.get(wanted.name.toLowerCase());
  const isForeign = found !== undefined && !isOurRole(found, spec);
  return roleArnOf(spec.roleName !== undefined && isForeign ? found : wanted);
}

/** Whether what EKS cannot change is as wanted. */
export function equalsSpec(
  profile: SimulatedProfile,
  spec: Spec,
  privateSubnets: readonly string[],
  aws: SimulatedAws,
) {
  const subnets = spec.subnetIDs ?? privateSubnets;
  return (
    profile.podExecutionRoleArn === wantedRoleArn(spec, aws) &&
    asSet(profile.subnets) === asSet(subnets) &&
    asSet(profile.selectors.map(selectorText)) === asSet((spec.selectors ?? []).map(selectorText))
  );
}

export const isAdoptable = (
  profile: SimulatedProfile,
  spec: Spec,
  privateSubnets: readonly string[],
  aws: SimulatedAws,
): boolean =>
  spec.adoptionPolicy === 'Always' &&
  !isClaimed(profile.tags) &&
  profile.status === 'ACTIVE' &&
  equalsSpec(profile, spec, privateSubnets, aws);

export interface Demand {
  readonly spec: Spec;
  readonly privateSubnets: readonly string[];
  readonly controlPlaneTags: Tags;
}

/** In what AWS is not as the object wants it, in words; empty: in nothing. */
export function shortfallsOf({ spec, privateSubnets, controlPlaneTags }: Demand, aws: SimulatedAws): readonly string[] {
  const shortfalls: string[] = [];
  const expect = (holds: boolean, what: string): void => void (holds || shortfalls.push(what));
  const ownTags = spec.additionalTags ?? {};
  const tags = { ...controlPlaneTags, ...ownTags };

  const profile = aws.profiles.get(profileNameIn(spec));
  expect(profile !== undefined && profile.hidden === 0, 'the profile is there');
  if (profile !== undefined) {
    expect(profile.status === 'ACTIVE', 'the profile is ACTIVE');
    expect(profile.tags[OWNER_TAG] === 'team-a/web', 'the profile is tagged as ours');
    expect(equalsSpec(profile, spec, privateSubnets, aws), 'the profile has role, subnets and selectors as wanted');
    for (const [key, value] of Object.entries({ ...tags, ...PROFILE_TAGS })) {
      expect(profile.tags[key] === value, `the profile has the tag ${key}`);
    }
  }

  const role = aws.roles.get(roleIn(spec, aws).name.toLowerCase());
  expect(role !== undefined, 'the role is there');
  if (role !== undefined) {
    expect(profile?.podExecutionRoleArn === roleArnOf(role), 'the profile uses the role that is there');
    if (spec.roleARN === undefined && isOurRole(role, spec)) {
      expect(role.path === (spec.rolePath ?? '/'), 'the role has the path');
      expect(isTrustedAsOurs(role.trust), 'the role has our trust policy');
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
        expect(ignoringCase(role.tags, key) === value, `the role has the tag ${key}`);
      }
    } else {
      expect(spec.roleARN !== undefined || spec.roleName !== undefined, 'only a role that is named may be foreign');
      expect(letsFargateIn(role.trust), 'the foreign role lets Fargate in');
    }
  }
  return shortfalls;
}

/** Tells the trust policies of {@link TRUSTS} apart by what they were made to be. */
const isTrustedAsOurs = (trust: string): boolean => trust === TRUSTS.ours || trust === TRUSTS.oursReordered;
export const letsFargateIn = (trust: string): boolean => isTrustedAsOurs(trust) || trust === TRUSTS.wide;

const statement = {
  Effect: 'Allow',
  Principal: { Service: 'eks-fargate-pods.amazonaws.com' },
  Action: 'sts:AssumeRole',
};
const sourceArn = `arn:aws:eks:eu-west-1:111122223333:fargateprofile/${EKS_CLUSTER}/*`;
const policy = (...statements: readonly object[]): string =>
  JSON.stringify({ Version: '2012-10-17', Statement: statements });

export const TRUSTS = {
  ours: policy({
    Effect: 'Allow',
    Condition: { ArnLike: { 'aws:SourceArn': sourceArn } },
    Principal: { Service: 'eks-fargate-pods.amazonaws.com' },
    Action: 'sts:AssumeRole',
  }),
  /** The same, as IAM might give it back. */
  oursReordered: policy({
    Action: ['sts:AssumeRole'],
    Principal: { Service: ['eks-fargate-pods.amazonaws.com'] },
    Effect: 'Allow',
    Condition: { ArnLike: { 'aws:SourceArn': [sourceArn] } },
  }),
  /** Good enough for EKS, but not what this controller writes. */
  wide: policy(statement),
  forNodes: policy({ ...statement, Principal: { Service: 'ec2.amazonaws.com' } }),
  garbage: 'not a policy',
} as const;

const asSet = (texts: readonly string[]): string => JSON.stringify([...new Set(texts)].toSorted());

const selectorText = ({ namespace, labels = {} }: { namespace?: string; labels?: Tags }): string =>
  JSON.stringify([namespace, asSet(Object.entries(labels).map(([key, value]) => `${key}=${value}`))]);

const ignoringCase = (tags: Tags, key: string): string | undefined =>
  Object.entries(tags).find(([candidate]) => candidate.toLowerCase() === key.toLowerCase())?.[1];

const withoutKeysOf = (tags: Tags, others: Tags): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => ignoringCase(others, key) === undefined));
