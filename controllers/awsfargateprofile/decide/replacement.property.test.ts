import { expect } from 'chai';
import fc from 'fast-check';
import { ProfileName, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileSpec } from '../../../api/v1beta2/index.ts';
import { propertyRuns } from '../../../pkg/env/testing/property-runs.ts';
import { areSelectorsEqual } from '../../../pkg/fargate/selectors.ts';
import { OWNER_TAG, anObject } from '../testing/builders.ts';
import type { ExternalEvent, Fault, SimulatedEnvironment, SimulationResult } from '../testing/environment.ts';
import { type TransitionResult, roleArnOf } from '../testing/simulated-aws.ts';
import { simulate } from '../testing/simulation.ts';

const anySpec: fc.Arbitrary<AWSFargateProfileSpec> = fc
  .record(
    {
      profileName: fc.constantFrom('one', 'two').map((name) => ProfileName.of(name)),
      roleName: fc.constantFrom('role-a', 'role-b').map((name) => RoleName.of(name)),
      subnetIDs: fc.constantFrom(['subnet-0a'], ['subnet-0b']),
    },
    { requiredKeys: [] },
  )
  .chain((fields) =>
    fc.constantFrom('a', 'b', 'c').map((namespace) => ({
      ...anObject().spec,
      ...fields,
      selectors: [{ namespace }],
      updateStrategy: { type: 'Replace' as const },
    })),
  );

const anyEvent: fc.Arbitrary<ExternalEvent> = fc
  .tuple(
    fc.integer({ min: 1, max: 20 }),
    fc.oneof(
      { weight: 5, arbitrary: fc.record({ kind: fc.constant('specChange' as const), spec: anySpec }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'statusLost' } as const) },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constant('controlPlane' as const),
          state: fc.constantFrom('ready' as const, 'notReady' as const),
        }),
      },
    ),
  )
  .map(([before, event]) => ({ before, ...event }));

/**
 * If the status is lost while the spec changes and EKS has no profile of the object yet, nothing tells the name of a role
 * that was made before: IAM cannot be searched. So the two events are so many passes apart that a crash and lost requests
 * fit between them.
 */
function apartFromLosses(events: readonly ExternalEvent[]): readonly ExternalEvent[] {
  const losses = events.filter(({ kind }) => kind === 'statusLost');
  const isNear = (change: ExternalEvent): boolean => losses.some(({ before }) => Math.abs(change.before - before) < 13);
  return events.filter((event) => event.kind !== 'specChange' || !isNear(event));
}

const anyEnvironment: fc.Arbitrary<SimulatedEnvironment> = fc.record({
  spec: anySpec,
  controlPlane: fc.constant('ready' as const),
  controlPlaneTags: fc.constant({}),
  status: fc.constant({}),
  provisionedIn: fc.constant(undefined),
  accessEntryRenewedFor: fc.constant(undefined),
  cluster: fc.constant('there' as const),
  authenticationMode: fc.constantFrom('API_AND_CONFIG_MAP', 'CONFIG_MAP'),
  accessEntries: fc.constant('none' as const),
  makesAccessEntries: fc.boolean(),
  profiles: fc.constant([]),
  roles: fc.constant([]),
  rolesUsedElsewhere: fc.constant([]),
  transitionResults: fc.array(fc.constantFrom<TransitionResult>('success', 'success', 'failure'), { maxLength: 6 }),
  faults: fc.array(fc.constantFrom<Fault>('none', 'none', 'none', 'answerLost', 'requestLost', 'notSent', 'crash'), {
    maxLength: 30,
  }),
  events: fc.array(anyEvent, { maxLength: 4 }).map(apartFromLosses),
});

/** Whether it ended while the control plane was not ready, so that nothing could be created. */
const isHeldBack = ({ creationBlocker }: SimulationResult): boolean => creationBlocker;

function expectNoGap({ mutations }: SimulationResult): void {
  for (const { mutation, awsBefore, outcome } of mutations) {
    if (mutation.kind !== 'deleteProfile' || outcome.kind !== 'done') continue;
    const ours = [...awsBefore.profiles.values()].filter(({ tags }) => tags[OWNER_TAG] === 'team-a/web');
    if (ours.find(({ name }) => name === mutation.name)?.status !== 'ACTIVE') continue;
    const others = ours.filter(({ name, status }) => name !== mutation.name && status === 'ACTIVE');
    expect(others, `other ACTIVE profiles when ${mutation.name} is deleted`).not.to.have.length(0);
  }
}

function expectOnlyWanted({ aws, spec, end, status }: SimulationResult): void {
  expect(end, 'the end').to.equal('inOrder');
  const [profile, ...others] = [...aws.profiles.values()];
  expect(
    others.map(({ name }) => name),
    'profiles left',
  ).to.deep.equal([]);
  expect(profile?.status).to.equal('ACTIVE');
  expect(areSelectorsEqual(profile?.selectors ?? [], spec.selectors ?? [])).to.equal(true);
  if (spec.subnetIDs !== undefined) expect(profile?.subnets).to.deep.equal(spec.subnetIDs);
  expect([...aws.roles.values()].map(roleArnOf), 'roles').to.deep.equal([profile?.podExecutionRoleArn]);
  if (spec.roleName !== undefined) expect(profile?.podExecutionRoleArn).to.match(new RegExp(`/${spec.roleName}$`));
  expect(status.profileName).to.equal(profile?.name);
  expect([status.successor, status.predecessors]).to.deep.equal([undefined, undefined]);
}

describe('A profile that may be replaced, in any order of changes and faults,', () => {
  it('has an ACTIVE profile from the first one on, and in the end only the wanted one with its role', () => {
    fc.assert(
      fc.property(anyEnvironment, (environment: SimulatedEnvironment) => {
        const result = simulate(environment);
        expectNoGap(result);
        if (!isHeldBack(result)) expectOnlyWanted(result);
      }),
      { numRuns: propertyRuns(250) },
    );
  });
});
