import fc from 'fast-check';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { NOWHERE } from '../whereabouts.ts';
import {
  ACCOUNT,
  CAPA_TAG,
  CLUSTER_ARN,
  EKS_CLUSTER,
  EKS_CLUSTER_TAG,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  ROLE,
  TARGET,
  anObject,
} from './builders.ts';
import type { Spec } from './oracle.ts';
import { SHARED_ROLE_OF_CAPA, TRUSTS } from './oracle.ts';
import { SimulatedAws, roleArnOf } from './simulated-aws.ts';

/** Everything that can be there before the first pass, and everything that happens besides. */
export interface World {
  readonly spec: Spec;
  /** Why nothing may be created, or that it may. */
  readonly controlPlane: 'ready' | 'notReady';
  readonly controlPlaneTags: Readonly<Record<string, string>>;
  readonly status: AWSFargateProfileStatus;
  /** What the object's annotation says of where it is. */
  readonly provisionedIn: string | undefined;
  /** The id of a role made anew that a human has said to have taken care of. */
  readonly renewedFor: string | undefined;
  readonly cluster: 'there' | 'gone';
  readonly authenticationMode: string;
  readonly profiles: readonly ProfileSeed[];
  readonly roles: readonly RoleSeed[];
  /** Names of roles, in lower case, that something else uses. */
  readonly usedElsewhere: readonly string[];
  readonly fates: readonly ('well' | 'badly')[];
  /** What happens to each change that is asked of AWS: none is left, none happens. */
  readonly faults: readonly Fault[];
  readonly happenings: readonly Happening[];
}

/**
 * `lost`: done, but the answer never came. `unsent`: not done, which nobody knows. `held`: not done, as the manager itself did
 * not send it. `crash`: done, and the manager died before it knew.
 */
export type Fault = 'none' | 'lost' | 'unsent' | 'held' | 'crash';

export interface ProfileSeed {
  readonly name: string;
  readonly status: string;
  readonly podExecutionRoleArn: string;
  readonly subnets: readonly string[];
  readonly selectors: readonly { readonly namespace: string; readonly labels: Readonly<Record<string, string>> }[];
  readonly tags: Readonly<Record<string, string>>;
}

export interface RoleSeed {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  readonly trust: string;
  readonly boundary: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly attached: readonly string[];
  readonly inline: readonly string[];
}

/** Something that somebody else does before the pass of that number. */
export type Happening = { readonly before: number } & (
  | { readonly kind: 'deletion'; readonly policy: 'delete' | 'retain' }
  | { readonly kind: 'specChange'; readonly spec: Spec }
  | { readonly kind: 'controlPlane'; readonly state: World['controlPlane'] }
  | { readonly kind: 'recordsLost' }
  | { readonly kind: 'profileMade'; readonly profile: ProfileSeed }
  | { readonly kind: 'profileDeleted'; readonly name: string }
  | { readonly kind: 'profileTagged'; readonly name: string; readonly tags: Readonly<Record<string, string>> }
  | { readonly kind: 'roleMade'; readonly role: RoleSeed }
  | { readonly kind: 'roleDeleted'; readonly name: string }
  | { readonly kind: 'roleChanged'; readonly name: string; readonly role: Omit<RoleSeed, 'name' | 'path' | 'id'> }
);

export const HERE = `${ACCOUNT}/${TARGET.region}/${EKS_CLUSTER}`;
export const PRIVATE_SUBNETS: readonly string[] = ['subnet-0a', 'subnet-0b'];
const EXTRA_POLICIES = ['arn:aws:iam::aws:policy/CloudWatchLogs', 'arn:aws:iam::111122223333:policy/extra'];
const FOREIGN_POLICY = 'arn:aws:iam::111122223333:policy/theirs';
const BOUNDARIES = ['arn:aws:iam::111122223333:policy/bound', 'arn:aws:iam::111122223333:policy/other-bound'];
const PATHS = ['/', '/team-a/'];

/** The object's own name for its profile, one that a spec may name, and one of an earlier spec. */
const PROFILES: readonly string[] = [PROFILE, 'web', 'former'];
const ROLES: readonly string[] = [ROLE, 'prod-web_fargate', 'shared', 'former-role'];
const FORMER_CAPA_ROLES: readonly string[] = [`${EKS_CLUSTER}-${PROFILE}_fargate`];

const some = <A>(value: A, ...others: readonly A[]): fc.Arbitrary<A> => fc.constantFrom(value, ...others);
const perhaps = <A>(arbitrary: fc.Arbitrary<A>): fc.Arbitrary<A | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 });

const aSelector = some(
  { namespace: 'web', labels: {} },
  { namespace: 'web', labels: { tier: 'front' } },
  { namespace: 'batch-*', labels: {} },
);
const someSelectors = fc.array(aSelector, { minLength: 1, maxLength: 2 });
const someSubnets = some(['subnet-0a', 'subnet-0b'], ['subnet-0b', 'subnet-0a'], ['subnet-0c']);
const someTags = some({}, { team: 'web' }, { Team: 'api' }, { team: 'web', cost: '7' });
const somePolicies = fc.subarray(EXTRA_POLICIES);

const ownRole: fc.Arbitrary<Partial<Spec>> = fc.record(
  {
    roleName: some('shared', ROLE, SHARED_ROLE_OF_CAPA).map((name) => RoleName.of(name)),
    rolePath: some('/team-a/', '/'),
    rolePermissionsBoundary: some('arn:aws:iam::111122223333:policy/bound'),
    roleAdditionalPolicies: somePolicies,
  },
  { requiredKeys: [] },
);

const existingRole: fc.Arbitrary<Partial<Spec>> = fc
  .tuple(some('/', '/team-a/'), some('shared', ROLE))
  .map(([path, name]) => ({ roleARN: RoleArn.of(roleArnOf({ path, name })) }));

const aSpec: fc.Arbitrary<Spec> = fc
  .tuple(
    fc.record(
      {
        profileName: some(ProfileName.of('web'), ProfileName.of(PROFILE)),
        subnetIDs: someSubnets,
        additionalTags: someTags,
        adoptionPolicy: some<'Owned' | 'Always' | 'Never'>('Owned', 'Always', 'Never'),
      },
      { requiredKeys: [] },
    ),
    someSelectors,
    fc.oneof({ weight: 4, arbitrary: ownRole }, { weight: 1, arbitrary: existingRole }),
  )
  .map(([names, selectors, role]) => ({ ...anObject().spec, ...names, selectors, ...role }));

/** Tags that say whose a profile is; the first are ours. */
const profileOwners = some<Readonly<Record<string, string>>>(
  { [OWNER_TAG]: 'team-a/web', [CAPA_TAG]: 'owned' },
  { [OWNER_TAG]: 'team-a/web' },
  { [CAPA_TAG]: 'owned' },
  { [OWNER_TAG]: 'team-b/web', [CAPA_TAG]: 'owned' },
  { 'kubernetes.io/cluster/staging': 'owned' },
  {},
);

const roleOwners = some<Readonly<Record<string, string>>>(
  { [EKS_CLUSTER_TAG]: CLUSTER_ARN, [CAPA_TAG]: 'owned' },
  { [EKS_CLUSTER_TAG.toUpperCase()]: CLUSTER_ARN },
  { [CAPA_TAG]: 'owned' },
  { [EKS_CLUSTER_TAG]: CLUSTER_ARN.replace('eu-west-1', 'eu-north-1'), [CAPA_TAG]: 'owned' },
  { 'kubernetes.io/cluster/staging': 'owned' },
  {},
);

const aTrust = some<string>(TRUSTS.ours, TRUSTS.oursReordered, TRUSTS.wide, TRUSTS.forNodes, TRUSTS.garbage);

const aRoleChange = fc.record({
  trust: aTrust,
  boundary: perhaps(fc.constantFrom(...BOUNDARIES)),
  tags: fc.tuple(roleOwners, someTags).map(([owner, others]) => ({ ...others, ...owner })),
  attached: fc.subarray([POD_EXECUTION_POLICY, ...EXTRA_POLICIES, FOREIGN_POLICY]),
  inline: fc.oneof({ weight: 6, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.constant(['theirs']) }),
});

const aRoleNamed = (name: string): fc.Arbitrary<RoleSeed> =>
  fc
    .tuple(aRoleChange, some('/', ...PATHS), some('AROAFORMER', 'AROAOTHER'))
    .map(([change, path, id]) => ({ ...change, name, path, id }));

/** Like `spec` in what EKS cannot change, more often than not. */
const aProfileFor = (spec: Spec, name: string): fc.Arbitrary<ProfileSeed> => {
  const plainRole = { path: spec.rolePath ?? '/', name: spec.roleName ?? `prod-${name}_fargate` };
  const wanted = {
    podExecutionRoleArn: spec.roleARN ?? roleArnOf(plainRole),
    subnets: spec.subnetIDs ?? PRIVATE_SUBNETS,
    selectors: (spec.selectors ?? []).map(({ namespace = '', labels = {} }) => ({ namespace, labels })),
  };
  const mostly = <A>(value: A, other: fc.Arbitrary<A>): fc.Arbitrary<A> =>
    fc.oneof({ weight: 5, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other });
  const anyRole = fc
    .tuple(some('/', ...PATHS), some(ROLE, ...ROLES, ...FORMER_CAPA_ROLES))
    .map(([path, role]) => roleArnOf({ path, name: role }));
  return fc.record({
    name: fc.constant(name),
    status: some('ACTIVE', 'ACTIVE', 'CREATING', 'DELETING', 'CREATE_FAILED', 'DELETE_FAILED', 'PAUSED_BY_EKS'),
    podExecutionRoleArn: mostly(wanted.podExecutionRoleArn, anyRole),
    subnets: mostly(wanted.subnets, someSubnets),
    selectors: mostly(wanted.selectors, someSelectors),
    tags: fc.tuple(profileOwners, someTags).map(([owner, others]) => ({ ...others, ...owner })),
  });
};

const someProfiles = (spec: Spec): fc.Arbitrary<readonly ProfileSeed[]> =>
  fc
    .tuple(...PROFILES.map((name) => perhaps(aProfileFor(spec, name))))
    .map((profiles) => profiles.filter((profile) => profile !== undefined))
    // EKS changes one profile of a cluster at a time.
    .map((profiles) => {
      const busy = profiles.findIndex(({ status }) => status === 'CREATING' || status === 'DELETING');
      return profiles.map((profile, index) =>
        index === busy || !(profile.status === 'CREATING' || profile.status === 'DELETING')
          ? profile
          : { ...profile, status: 'ACTIVE' },
      );
    });

const someRoles: fc.Arbitrary<readonly RoleSeed[]> = fc
  .tuple(...[...ROLES, ...FORMER_CAPA_ROLES, SHARED_ROLE_OF_CAPA].map((name) => perhaps(aRoleNamed(name))))
  .map((roles) => roles.filter((role) => role !== undefined));

/** What earlier passes may have written down, in part or not at all. */
const someStatus: fc.Arbitrary<AWSFargateProfileStatus> = fc
  .record(
    {
      profileName: some(PROFILE, ...PROFILES).map((name) => ProfileName.of(name)),
      profileARN: fc.constant('arn:aws:eks:eu-west-1:111122223333:fargateprofile/c/p/0ec0ffee'),
      createRequestedAt: some('2026-11-21T03:24:55Z', '2026-11-21T03:24:10Z', '2026-11-20T11:00:00Z'),
      tagKeys: some(['team', OWNER_TAG, CAPA_TAG, EKS_CLUSTER_TAG], ['cost', 'Team'], ['team']),
      role: fc.record(
        {
          name: some(ROLE, ...ROLES, ...FORMER_CAPA_ROLES).map((name) => RoleName.of(name)),
          managed: fc.boolean(),
          id: some('AROAFORMER', 'AROAOTHER'),
          attachedPolicies: fc.subarray([POD_EXECUTION_POLICY, ...EXTRA_POLICIES]),
        },
        { requiredKeys: [] },
      ),
      initialization: fc.boolean().map((provisioned) => ({ provisioned })),
      subnets: someSubnets,
    },
    { requiredKeys: [] },
  )
  .map((status) => ({ ...status, region: TARGET.region, eksClusterName: TARGET.eksCluster }));

const aHappening = (spec: Spec): fc.Arbitrary<Happening> =>
  fc
    .tuple(
      fc.integer({ min: 0, max: 7 }),
      fc.oneof(
        { weight: 4, arbitrary: fc.constant({ kind: 'deletion', policy: 'delete' } as const) },
        fc.constant({ kind: 'deletion', policy: 'retain' } as const),
        fc.record({ kind: fc.constant('specChange' as const), spec: aSpec }),
        fc.record({
          kind: fc.constant('controlPlane' as const),
          state: some<World['controlPlane']>('ready', 'notReady'),
        }),
        fc.constant({ kind: 'recordsLost' } as const),
        fc.record({
          kind: fc.constant('profileMade' as const),
          profile: some(PROFILE, ...PROFILES).chain((name) => aProfileFor(spec, name)),
        }),
        fc.record({ kind: fc.constant('profileDeleted' as const), name: some(PROFILE, ...PROFILES) }),
        fc.record({
          kind: fc.constant('profileTagged' as const),
          name: some(PROFILE, ...PROFILES),
          tags: profileOwners,
        }),
        fc.record({ kind: fc.constant('roleMade' as const), role: some(ROLE, ...ROLES).chain(aRoleNamed) }),
        fc.record({ kind: fc.constant('roleDeleted' as const), name: some(ROLE, ...ROLES) }),
        fc.record({ kind: fc.constant('roleChanged' as const), name: some(ROLE, ...ROLES), role: aRoleChange }),
      ),
    )
    .map(([before, happening]) => ({ before, ...happening }));

/** Worlds of every kind: most are strange, and in most of the strange ones nothing may be touched. */
export const aWorld: fc.Arbitrary<World> = aSpec.chain((spec) =>
  fc.record({
    spec: fc.constant(spec),
    controlPlane: some<World['controlPlane']>('ready', 'ready', 'ready', 'notReady'),
    controlPlaneTags: someTags,
    status: fc.oneof({ weight: 1, arbitrary: fc.constant({}) }, { weight: 2, arbitrary: someStatus }),
    provisionedIn: perhaps(some(NOWHERE, HERE)),
    renewedFor: perhaps(some('AROAFORMER', 'AROAOTHER')),
    cluster: some<World['cluster']>('there', 'there', 'there', 'there', 'there', 'gone'),
    authenticationMode: some('API_AND_CONFIG_MAP', 'API', 'CONFIG_MAP'),
    profiles: fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 3, arbitrary: someProfiles(spec) }),
    roles: fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 3, arbitrary: someRoles }),
    usedElsewhere: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.subarray(ROLES.map((name) => name.toLowerCase())) },
    ),
    fates: fc.array(some<'well' | 'badly'>('well', 'badly'), { maxLength: 3 }),
    faults: fc.oneof(
      { weight: 1, arbitrary: fc.constant([]) },
      {
        weight: 1,
        arbitrary: fc.array(some<Fault>('none', 'none', 'lost', 'unsent', 'held', 'crash'), { maxLength: 12 }),
      },
    ),
    happenings: fc.array(aHappening(spec), { maxLength: 3 }),
  }),
);

export function awsOf(world: World): SimulatedAws {
  const aws = new SimulatedAws();
  aws.cluster = world.cluster;
  aws.authenticationMode = world.authenticationMode;
  aws.fates.push(...world.fates);
  if (world.cluster === 'there') {
    for (const profile of world.profiles) aws.profiles.set(profile.name, { ...profile, hidden: 0 });
  }
  for (const role of world.roles) aws.roles.set(role.name.toLowerCase(), { ...role });
  return aws;
}
