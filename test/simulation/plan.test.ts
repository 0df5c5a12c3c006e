import { expect } from 'chai';
import fc from 'fast-check';
import { createKubeClient } from 'controller-runtime/client';
import { propertyRuns } from 'controller-runtime/testing';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { newAwsAccess } from '../../cmd/capaf/aws.ts';
import { type PlannedObject, startPlanner } from '../../cmd/capaf/plan/planner.ts';
import { AWS_ENDPOINTS } from '../../pkg/cloud/testing/endpoints.ts';
import { NO_LIMITS } from '../../pkg/fargate/operator-limits.ts';
import { EmulatorRequestHandler } from '../aws/transport/request-handler.ts';
import { ACCOUNT, MINUTE, NAMESPACE } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const POLICY = 'arn:aws:iam::aws:policy/CloudWatchLogsFullAccess';
const REPLACE = { updateStrategy: { type: 'Replace' } };
const DRAIN = { updateStrategy: { type: 'Replace', replace: { drainTimeout: '10m' } } };
/** The only change in a plan that is not a call to AWS. */
const EVICTION = 'EvictPods Fargate profile "default_web"';

/** Returns the plan that `capaf plan` computes for the named objects. Expects that the planning writes nothing. */
async function planFor(world: SimulatedWorld, ...names: readonly string[]): Promise<readonly PlannedObject[]> {
  const { accessKeyId, secretAccessKey } = world.aws.admin.registerKey({ account: ACCOUNT });
  const transport = new EmulatorRequestHandler(world.aws);
  const credentials = { key: 'caller', fetch: async () => ({ accessKeyId, secretAccessKey }) };
  const stop = new AbortController();
  const { signal } = stop;
  const { clock } = world;
  const aws = newAwsAccess({ clock, signal, transport, endpoints: AWS_ENDPOINTS, credentials, region: undefined });
  const client = createKubeClient({ transport: world.api, clock });
  const options = { client, sessions: aws.sessions, limits: NO_LIMITS, managerRegion: undefined, clock, signal };
  const before = { calls: world.mutations().length, writes: world.writes.length, object: world.profile('web') };
  let planned: readonly PlannedObject[] | undefined;
  const planning = startPlanner(options)
    .then((planner) =>
      planner.plan(
        names.map((name) => ({ namespace: NAMESPACE, name })),
        ACCOUNT,
      ),
    )
    .then((objects) => (planned = objects));
  await world.until('the plan', () => planned !== undefined, MINUTE);
  stop.abort(new Error('the plan is made'));
  expect({ calls: world.mutations().length, writes: world.writes.length, object: world.profile('web') }).to.deep.equal(
    before,
  );
  return planning;
}

const plannedIn = (objects: readonly PlannedObject[]): readonly string[] =>
  objects.flatMap(({ changes }) => changes.map(({ operation, resource }) => `${operation} ${resource}`));

/** The calls that changed AWS since the first `from` ones, in the words of a plan. */
const madeIn = (world: SimulatedWorld, from: number): readonly string[] =>
  world
    .mutations()
    .slice(from)
    .filter(({ errorCode }) => errorCode === undefined)
    .map(({ operation, identifiers: { fargateProfileName: profile, RoleName: role, principalArn, resourceArn } }) => {
      const name = profile ?? resourceArn?.split('/')[2];
      const resource =
        role === undefined
          ? name === undefined
            ? `the access entry of ${principalArn}`
            : `Fargate profile "${name}"`
          : `IAM role "${role}"`;
      return `${operation} ${resource}`;
    });

/**
 * Creates an object with the spec `before`, changes it to `after` while no manager runs, and plans. Then starts a
 * manager, and expects that it makes exactly the planned changes.
 */
async function expectPlanHolds(
  before: object | undefined,
  after: object | 'delete',
): Promise<PlannedObject | undefined> {
  const world = new SimulatedWorld();
  if (before !== undefined) {
    const manager = await world.startWithReadyObject('web', before);
    await world.stop(manager);
  }
  if (after === 'delete') world.delete('web');
  else if (before === undefined) world.applyWith('web', after);
  else world.patch(PLURAL, 'web', { spec: after });
  const from = world.mutations().length;
  const plan = await planFor(world, 'web');
  world.start();
  if (after === 'delete') await world.gone('web');
  else {
    const isSettled = (): boolean =>
      world.condition('web')?.reason === plan[0]?.end.reason &&
      world.condition('web')?.observedGeneration === world.profile('web')?.metadata.generation;
    await world.until(`web ${plan[0]?.end.reason}`, isSettled, 60 * MINUTE);
  }
  expect(madeIn(world, from)).to.deep.equal(plannedIn(plan).filter((each) => each !== EVICTION));
  if (after !== 'delete') world.delete('web');
  await world.gone('web');
  await world.finish();
  return plan[0];
}

describe('a plan', () => {
  const cases: readonly (readonly [what: string, before: object | undefined, after: object | 'delete', end: string])[] =
    [
      ['a new object', undefined, {}, 'Ready'],
      ['nothing to do', {}, {}, 'Ready'],
      ['other tags and policies', {}, { additionalTags: { team: 'a' }, roleAdditionalPolicies: [POLICY] }, 'Ready'],
      ['a deletion', {}, 'delete', 'Deleted'],
      ['a replacement', REPLACE, { selectors: [{ namespace: 'other' }] }, 'Ready'],
      ['a replacement with another role', REPLACE, { roleName: 'other-role' }, 'Ready'],
      ['a change that EKS cannot make', {}, { selectors: [{ namespace: 'other' }] }, 'SpecDiffers'],
    ];
  for (const [what, before, after, end] of cases)
    it(`of ${what} is what the manager then does`, async () => {
      const plan = await expectPlanHolds(before, after);
      expect(plan?.end.reason).to.equal(end);
    });

  it('of a replacement with a drain has the drain as a step before the deletion', async () => {
    const plan = await expectPlanHolds(DRAIN, { selectors: [{ namespace: 'other' }] });
    const planned = plannedIn(plan === undefined ? [] : [plan]);
    expect(planned.slice(planned.indexOf(EVICTION))).to.deep.equal([
      EVICTION,
      'DeleteFargateProfile Fargate profile "default_web"',
    ]);
    const step = plan?.changes.find(({ operation }) => operation === 'EvictPods');
    expect(step).to.deep.include({
      after: 'keepPredecessorFor, at least 30 seconds, is over',
      fields: [{ name: 'drainTimeout', after: '10m' }],
    });
  });

  it('of any change of the spec is what the manager then does', async () => {
    const spec = fc.record(
      {
        selectors: fc.constantFrom([{ namespace: 'a' }], [{ namespace: 'b' }]),
        roleName: fc.constantFrom('role-a', 'role-b'),
        additionalTags: fc.constantFrom({ team: 'a' }, { team: 'b', cost: '1' }),
        roleAdditionalPolicies: fc.constantFrom([], [POLICY]),
        updateStrategy: fc.constantFrom(
          { type: 'Replace' },
          { type: 'Replace', replace: { keepPredecessorFor: '90s' } },
        ),
      },
      { requiredKeys: ['updateStrategy'] },
    );
    await fc.assert(
      fc.asyncProperty(spec, spec, async (before, after) => void (await expectPlanHolds(before, after))),
      { numRuns: propertyRuns(15) },
    );
  });
});
