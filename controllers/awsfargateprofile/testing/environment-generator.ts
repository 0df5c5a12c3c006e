import fc from 'fast-check';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { propertyRuns } from '../../../pkg/env/testing/property-runs.ts';
import { CAPA_SHARED_ROLE } from '../../../pkg/fargate/names.ts';
import { NOWHERE } from '../model/location.ts';
import {
  CAPA_TAG,
  CLUSTER_ARN,
  EKS_CLUSTER,
  EKS_CLUSTER_TAG,
  HERE,
  NAMESPACE_TAG,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  ROLE,
  TARGET,
  anObject,
} from './builders.ts';
import type {
  ExternalEvent,
  Fault,
  InitialProfile,
  InitialRole,
  RecordedMutation,
  SimulatedEnvironment,
  SimulationResult,
} from './environment.ts';
import { PRIVATE_SUBNETS } from './environment.ts';
import { TRUST_POLICIES, recordTag } from './fixtures.ts';
import { type TransitionResult, roleArnOf } from './simulated-aws.ts';
import { simulate } from './simulation.ts';

const EXTRA_POLICIES = ['arn:aws:iam::aws:policy/CloudWatchLogs', 'arn:aws:iam::111122223333:policy/extra'];
const FOREIGN_POLICY = 'arn:aws:iam::111122223333:policy/theirs';
const BOUNDARIES = ['arn:aws:iam::111122223333:policy/bound', 'arn:aws:iam::111122223333:policy/other-bound'];
const PATHS = ['/', '/team-a/'];

/**
 * Names of Fargate profiles: the name that the controller computes, a name that the generated spec can contain, and a
 * name from an earlier spec of the same AWSFargateProfile.
 */
const PROFILES: readonly string[] = [PROFILE, 'web', 'former'];
const ROLES: readonly string[] = [ROLE, 'prod-web_fargate', 'shared', 'former-role'];
const FORMER_CAPA_ROLES: readonly string[] = [`${EKS_CLUSTER}-${PROFILE}_fargate`];

const oneOf = <A>(value: A, ...others: readonly A[]): fc.Arbitrary<A> => fc.constantFrom(value, ...others);
const optional = <A>(arbitrary: fc.Arbitrary<A>): fc.Arbitrary<A | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 });

const anySelector = oneOf(
  { namespace: 'web', labels: {} },
  { namespace: 'web', labels: { tier: 'front' } },
  { namespace: 'batch-*', labels: {} },
);
const anySelectors = fc.array(anySelector, { minLength: 1, maxLength: 2 });
const anySubnets = oneOf(['subnet-0a', 'subnet-0b'], ['subnet-0b', 'subnet-0a'], ['subnet-0c']);
const anyTags = oneOf({}, { team: 'web' }, { Team: 'api' }, { team: 'web', cost: '7' });
const anyPolicies = fc.subarray(EXTRA_POLICIES);

const anyManagedRoleSpec: fc.Arbitrary<Partial<AWSFargateProfileSpec>> = fc.record(
  {
    roleName: oneOf('shared', 'Shared', ROLE, CAPA_SHARED_ROLE).map((name) => RoleName.of(name)),
    rolePath: oneOf('/team-a/', '/'),
    rolePermissionsBoundary: oneOf('arn:aws:iam::111122223333:policy/bound'),
    roleAdditionalPolicies: anyPolicies,
  },
  { requiredKeys: [] },
);

const anyExistingRoleSpec: fc.Arbitrary<Partial<AWSFargateProfileSpec>> = fc
  .tuple(oneOf('/', '/team-a/'), oneOf('shared', ROLE))
  .map(([path, name]) => ({ roleARN: RoleArn.of(roleArnOf({ path, name })) }));

const anySpec: fc.Arbitrary<AWSFargateProfileSpec> = fc
  .tuple(
    fc.record(
      {
        profileName: oneOf(ProfileName.of('web'), ProfileName.of(PROFILE)),
        subnetIDs: anySubnets,
        additionalTags: anyTags,
        adoptionPolicy: oneOf<'Owned' | 'Always' | 'Never'>('Owned', 'Always', 'Never'),
      },
      { requiredKeys: [] },
    ),
    anySelectors,
    fc.oneof({ weight: 4, arbitrary: anyManagedRoleSpec }, { weight: 1, arbitrary: anyExistingRoleSpec }),
  )
  .map(([names, selectors, role]) => ({ ...anObject().spec, ...names, selectors, ...role }));

/**
 * Generates the tags that name the owner of a Fargate profile: none, the AWSFargateProfile `team-a/web`, or another
 * owner.
 */
const anyProfileOwnerTags = oneOf<Readonly<Record<string, string>>>(
  { [OWNER_TAG]: 'team-a/web', [CAPA_TAG]: 'owned' },
  { [OWNER_TAG]: 'team-a/web' },
  { [CAPA_TAG]: 'owned' },
  { [OWNER_TAG]: 'team-b/web', [CAPA_TAG]: 'owned' },
  { 'kubernetes.io/cluster/staging': 'owned' },
  {},
);

const anyRoleOwnerTags = oneOf<Readonly<Record<string, string>>>(
  { [EKS_CLUSTER_TAG]: CLUSTER_ARN, [NAMESPACE_TAG]: 'team-a', [CAPA_TAG]: 'owned' },
  { [EKS_CLUSTER_TAG.toUpperCase()]: CLUSTER_ARN, [NAMESPACE_TAG.toUpperCase()]: 'team-a' },
  { [EKS_CLUSTER_TAG]: CLUSTER_ARN, [NAMESPACE_TAG]: 'team-b', [CAPA_TAG]: 'owned' },
  { [EKS_CLUSTER_TAG]: CLUSTER_ARN, [CAPA_TAG]: 'owned' },
  { [CAPA_TAG]: 'owned' },
  { [EKS_CLUSTER_TAG]: CLUSTER_ARN.replace('eu-west-1', 'eu-north-1'), [CAPA_TAG]: 'owned' },
  { 'kubernetes.io/cluster/staging': 'owned' },
  {},
);

/** Generates the tags in which a profile or role records what the controller has put on it before. */
const anyRecord = (...additions: readonly string[]) =>
  fc.subarray(['tag team', 'tag cost', ...additions]).map((recorded) => recordTag(...recorded));

const anyTrustPolicy = oneOf<string>(
  TRUST_POLICIES.ours,
  TRUST_POLICIES.oursReordered,
  TRUST_POLICIES.wide,
  TRUST_POLICIES.forNodes,
  TRUST_POLICIES.garbage,
);

const anyRoleChange = fc.record({
  trust: anyTrustPolicy,
  boundary: optional(fc.constantFrom(...BOUNDARIES)),
  tags: fc
    .tuple(
      anyRoleOwnerTags,
      anyTags,
      anyRecord(...EXTRA_POLICIES.map((arn) => `policy ${arn}`), ...BOUNDARIES.map((arn) => `boundary ${arn}`)),
    )
    .map(([owner, others, record]) => ({ ...others, ...owner, ...record })),
  attached: fc.subarray([POD_EXECUTION_POLICY, ...EXTRA_POLICIES, FOREIGN_POLICY]),
  inline: fc.oneof({ weight: 6, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.constant(['theirs']) }),
});

/** IAM gives each role an id of its own, and another one when the role is made again. */
const anyRoleId = (name: string): fc.Arbitrary<string> => oneOf(`AROAFORMER-${name}`, `AROAOTHER-${name}`);

const anyRoleNamed = (name: string): fc.Arbitrary<InitialRole> =>
  fc
    .tuple(anyRoleChange, oneOf('/', ...PATHS), anyRoleId(name))
    .map(([change, path, id]) => ({ ...change, name, path, id }));

/** Generates a Fargate profile. Most of its immutable fields are as the spec asks for. */
const anyProfileFor = (spec: AWSFargateProfileSpec, name: string): fc.Arbitrary<InitialProfile> => {
  const plainRole = { path: spec.rolePath ?? '/', name: spec.roleName ?? `prod-${name}_fargate` };
  const wanted = {
    podExecutionRoleArn: spec.roleARN ?? roleArnOf(plainRole),
    subnets: spec.subnetIDs ?? PRIVATE_SUBNETS,
    selectors: (spec.selectors ?? []).map(({ namespace = '', labels = {} }) => ({ namespace, labels })),
  };
  const mostly = <A>(value: A, other: fc.Arbitrary<A>): fc.Arbitrary<A> =>
    fc.oneof({ weight: 5, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other });
  const anyRole = fc
    .tuple(oneOf('/', ...PATHS), oneOf(ROLE, ...ROLES, ...FORMER_CAPA_ROLES))
    .map(([path, role]) => roleArnOf({ path, name: role }));
  return fc.record({
    name: fc.constant(name),
    status: oneOf('ACTIVE', 'ACTIVE', 'CREATING', 'DELETING', 'CREATE_FAILED', 'DELETE_FAILED', 'PAUSED_BY_EKS'),
    podExecutionRoleArn: mostly(wanted.podExecutionRoleArn, anyRole),
    subnets: mostly(wanted.subnets, anySubnets),
    selectors: mostly(wanted.selectors, anySelectors),
    tags: fc
      .tuple(anyProfileOwnerTags, anyTags, anyRecord())
      .map(([owner, others, record]) => ({ ...others, ...owner, ...record })),
  });
};

const anyProfiles = (spec: AWSFargateProfileSpec): fc.Arbitrary<readonly InitialProfile[]> =>
  fc
    .tuple(...PROFILES.map((name) => optional(anyProfileFor(spec, name))))
    .map((profiles) => profiles.filter((profile) => profile !== undefined))
    // EKS creates or deletes only one profile of a cluster at a time, so at most one generated profile is CREATING or
    // DELETING.
    .map((profiles) => {
      const busy = profiles.findIndex(({ status }) => status === 'CREATING' || status === 'DELETING');
      return profiles.map((profile, index) =>
        index === busy || !(profile.status === 'CREATING' || profile.status === 'DELETING')
          ? profile
          : { ...profile, status: 'ACTIVE' },
      );
    });

const anyRoles: fc.Arbitrary<readonly InitialRole[]> = fc
  .tuple(...[...ROLES, ...FORMER_CAPA_ROLES, CAPA_SHARED_ROLE].map((name) => optional(anyRoleNamed(name))))
  .map((roles) => roles.filter((role) => role !== undefined));

const anyTagKeys = oneOf(['team', OWNER_TAG, CAPA_TAG, EKS_CLUSTER_TAG], ['cost', 'Team'], ['team']);
const anyAllegedAdditions = {
  attachedPolicies: fc.subarray([POD_EXECUTION_POLICY, ...EXTRA_POLICIES, FOREIGN_POLICY]),
  permissionsBoundary: fc.constantFrom(...BOUNDARIES),
};

/** Generates a status with region and EKS cluster, and with all, some or none of the other fields below. */
const anyStatus: fc.Arbitrary<AWSFargateProfileStatus> = fc
  .record(
    {
      profileName: oneOf(PROFILE, ...PROFILES).map((name) => ProfileName.of(name)),
      profileARN: fc.constant('arn:aws:eks:eu-west-1:111122223333:fargateprofile/c/p/0ec0ffee'),
      createRequestedAt: oneOf('2026-11-21T03:24:55Z', '2026-11-21T03:24:10Z', '2026-11-20T11:00:00Z'),
      tagKeys: anyTagKeys,
      role: oneOf(ROLE, ...ROLES, ...FORMER_CAPA_ROLES).chain((name) =>
        fc.record(
          { name: fc.constant(RoleName.of(name)), managed: fc.boolean(), id: anyRoleId(name), ...anyAllegedAdditions },
          { requiredKeys: ['name'] },
        ),
      ),
      initialization: fc.boolean().map((provisioned) => ({ provisioned })),
      subnets: anySubnets,
    },
    { requiredKeys: [] },
  )
  .map((status) => ({ ...status, region: TARGET.region, eksClusterName: TARGET.eksCluster }));

/**
 * Returns the spec after a user has named the role that the controller creates for the spec in `roleARN`, which makes
 * it a role of the user.
 */
function withCreatedRoleAsRoleARN(spec: AWSFargateProfileSpec): AWSFargateProfileSpec {
  const { roleName, rolePath, rolePermissionsBoundary: _boundary, roleAdditionalPolicies: _policies, ...rest } = spec;
  return { ...rest, roleARN: RoleArn.of(roleArnOf({ path: rolePath ?? '/', name: roleName ?? ROLE })) };
}

const anyEvent = (spec: AWSFargateProfileSpec): fc.Arbitrary<ExternalEvent> =>
  fc
    .tuple(
      fc.integer({ min: 0, max: 7 }),
      fc.oneof(
        { weight: 4, arbitrary: fc.constant({ kind: 'deletion', policy: 'delete' } as const) },
        fc.constant({ kind: 'deletion', policy: 'retain' } as const),
        fc.record({ kind: fc.constant('specChange' as const), spec: anySpec }),
        fc.constant({ kind: 'specChange', spec: withCreatedRoleAsRoleARN(spec) } as const),
        fc.record({
          kind: fc.constant('controlPlane' as const),
          state: oneOf<SimulatedEnvironment['controlPlane']>('ready', 'notReady'),
        }),
        fc.constant({ kind: 'statusLost' } as const),
        fc.record({
          kind: fc.constant('statusWritten' as const),
          tagKeys: anyTagKeys,
          role: fc.record(anyAllegedAdditions),
        }),
        fc.record({
          kind: fc.constant('profileCreated' as const),
          profile: oneOf(PROFILE, ...PROFILES).chain((name) => anyProfileFor(spec, name)),
        }),
        fc.record({ kind: fc.constant('profileDeleted' as const), name: oneOf(PROFILE, ...PROFILES) }),
        fc.record({
          kind: fc.constant('profileTagged' as const),
          name: oneOf(PROFILE, ...PROFILES),
          tags: anyProfileOwnerTags,
        }),
        fc.record({ kind: fc.constant('roleCreated' as const), role: oneOf(ROLE, ...ROLES).chain(anyRoleNamed) }),
        fc.record({ kind: fc.constant('roleDeleted' as const), name: oneOf(ROLE, ...ROLES) }),
        fc.record({ kind: fc.constant('roleChanged' as const), name: oneOf(ROLE, ...ROLES), role: anyRoleChange }),
      ),
    )
    .map(([before, event]) => ({ before, ...event }));

/**
 * Generates environments for simulations. In most environments, AWS holds resources that are broken or that the
 * controller does not own.
 */
const anyEnvironment: fc.Arbitrary<SimulatedEnvironment> = anySpec.chain((spec) =>
  fc.record({
    spec: fc.constant(spec),
    controlPlane: oneOf<SimulatedEnvironment['controlPlane']>('ready', 'ready', 'ready', 'notReady'),
    controlPlaneTags: anyTags,
    status: fc.oneof({ weight: 1, arbitrary: fc.constant({}) }, { weight: 2, arbitrary: anyStatus }),
    provisionedIn: optional(oneOf(NOWHERE, HERE)),
    accessEntryRenewedFor: optional(oneOf(ROLE, ...ROLES).chain(anyRoleId)),
    cluster: oneOf<SimulatedEnvironment['cluster']>('there', 'there', 'there', 'there', 'there', 'gone'),
    authenticationMode: oneOf('API_AND_CONFIG_MAP', 'API', 'CONFIG_MAP'),
    accessEntries: oneOf<SimulatedEnvironment['accessEntries']>('current', 'former', 'none'),
    makesAccessEntries: fc.boolean(),
    profiles: fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 3, arbitrary: anyProfiles(spec) }),
    roles: fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 3, arbitrary: anyRoles }),
    rolesUsedElsewhere: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.subarray(ROLES.map((name) => name.toLowerCase())) },
    ),
    transitionResults: fc.array(oneOf<TransitionResult>('success', 'failure'), { maxLength: 3 }),
    faults: fc.oneof(
      { weight: 1, arbitrary: fc.constant([]) },
      {
        weight: 1,
        arbitrary: fc.array(oneOf<Fault>('none', 'none', 'answerLost', 'requestLost', 'notSent', 'crash'), {
          maxLength: 12,
        }),
      },
    ),
    events: fc.array(anyEvent(spec), { maxLength: 3 }),
  }),
);

/** The number of simulations for which a test checks one rule. */
const RUNS = propertyRuns(750);

/** The highest number of results that this process keeps. 3,000 results take about 120 MB of memory. */
const MAX_SHARED_RESULTS = 3_000;

/**
 * The results of all simulations, if the property tests have a fixed seed. With a fixed seed, fast-check generates the
 * same environments for each rule, so all rules of a process check the same results. They are undefined before the
 * first rule, without a seed, and with more simulations than a process can keep.
 */
let sharedResults: readonly SimulationResult[] | undefined;

/**
 * Checks a rule for the result of every generated simulation. The rule must not change the result. If a simulation
 * breaks the rule, the error lists the calls with which the simulated controller changed AWS.
 */
export function afterEverySimulation(rule: (result: SimulationResult) => void): void {
  if (sharedResults !== undefined && sharedResults.every((result) => isKept(rule, result))) return;
  // If a shared result breaks the rule, fast-check finds the same environment again, and shrinks it.
  const results: SimulationResult[] = [];
  fc.assert(
    fc.property(anyEnvironment, (environment: SimulatedEnvironment) => {
      const result = simulate(environment);
      results.push(result);
      try {
        rule(result);
      } catch (error) {
        throw new Error(`${String(error)}\nmutations:\n${result.mutations.map(describeMutation).join('\n')}`, {
          cause: error,
        });
      }
    }),
    { numRuns: RUNS },
  );
  if (fc.readConfigureGlobal().seed !== undefined && RUNS <= MAX_SHARED_RESULTS) sharedResults = results;
}

function isKept(rule: (result: SimulationResult) => void, result: SimulationResult): boolean {
  try {
    rule(result);
    return true;
  } catch {
    return false;
  }
}

/** Checks a rule for every call with which the simulated controller changes AWS, in every generated simulation. */
export const atEveryMutation = (rule: (mutation: RecordedMutation, result: SimulationResult) => void): void =>
  afterEverySimulation((result) => result.mutations.forEach((mutation) => rule(mutation, result)));

const describeMutation = ({ pass, mutation, outcome }: RecordedMutation): string =>
  `  ${pass}: ${JSON.stringify(mutation)} → ${outcome.kind}`;
