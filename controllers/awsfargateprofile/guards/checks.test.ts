import { expect } from 'chai';
import type { ServedSchemaState } from '../../shared/crd/served-schema.ts';
import { OWNER_TAG, PROFILE, ROLE, aDeletedObject, aFailure, aProfile } from '../testing/builders.ts';
import { CAPA_TAGS } from '../testing/fixtures.ts';
import { CONSTRUCTIVE, CREATE_PROFILE, DELETE_ROLE, DESTRUCTIVE, describeObstacle } from '../testing/mutations.ts';
import {
  aSimulatedProfile,
  aSimulatedRole,
  awsAsDesired,
  awsWith,
  newServices,
  reconcileStateFor,
} from '../testing/reconcile-state.ts';
import type { Mutation } from '../model/change.ts';
import type { ReconcileState } from './guards.ts';
import { afterSurvey, leaseValid, noLiveBlocker, tagsUnchanged, mutationTimeLeft, schemaIsOurs } from './checks.ts';

const leaving = (): ReconcileState => reconcileStateFor(awsAsDesired(), aDeletedObject());

describe('leaseValid', () => {
  for (const [timeLeft, expected] of [
    [1, 'go'],
    [0, 'stop: NotNow'],
    [-3_000, 'stop: NotNow'],
  ] as const)
    it(`returns "${expected}" with ${timeLeft} ms left`, async () => {
      const check = leaseValid({ mutationTimeLeft: () => timeLeft });
      for (const mutation of [CREATE_PROFILE, DELETE_ROLE])
        expect(describeObstacle(await check(mutation, leaving()))).to.equal(expected);
    });
});

it('noLiveBlocker asks before each change that deletes something, and before no other', async () => {
  const paused = noLiveBlocker({ findLiveBlocker: async () => 'the object is paused' });
  for (const mutation of DESTRUCTIVE) {
    expect(describeObstacle(await paused(mutation, leaving())), mutation.kind).to.equal('stop: NotNow');
    expect(await noLiveBlocker(newServices())(mutation, leaving()), mutation.kind).to.equal(undefined);
  }
  for (const mutation of CONSTRUCTIVE) expect(await paused(mutation, leaving()), mutation.kind).to.equal(undefined);
});

describe('schemaIsOurs', () => {
  const checkOf = (check: () => Promise<ServedSchemaState>) => schemaIsOurs(newServices({ schema: { check } }));
  const creations = CONSTRUCTIVE.filter(({ kind }) => kind.startsWith('create'));

  for (const [state, expected] of [
    [{ kind: 'foreign', provider: 'infrastructure-aws', missing: ['spec.deletionPolicy'] }, 'stop: ForeignSchema'],
    [{ kind: 'unreadable', reason: 'forbidden' }, 'stop: WaitingForAPI'],
    [{ kind: 'capaServes', webhook: 'default.example', isForeign: false }, 'stop: CAPAServesProfiles'],
    [{ kind: 'ours' }, 'go'],
  ] as const)
    it(`returns "${expected}" before each creation and deletion under a schema that is ${state.kind}`, async () => {
      for (const mutation of [...creations, ...DESTRUCTIVE])
        expect(describeObstacle(await checkOf(async () => state)(mutation, leaving())), mutation.kind).to.equal(
          expected,
        );
    });

  it('does not check the schema again before other changes', async () => {
    const failing = checkOf(() => Promise.reject(new Error('the schema was compared')));
    for (const mutation of CONSTRUCTIVE.filter((each) => !creations.includes(each)))
      expect(await failing(mutation, leaving()), mutation.kind).to.equal(undefined);
  });
});

describe('afterSurvey', () => {
  const all: readonly Mutation[] = [...CONSTRUCTIVE, ...DESTRUCTIVE];
  const passing = all.filter(({ kind }) => ['tagProfile', 'untagProfile', 'createAccessEntry'].includes(kind));
  const surveyed = all.filter((each) => !passing.includes(each));

  it('lets no profile be created or deleted, and no role be changed, after a glance, which does not show all profiles', async () => {
    const reconcile = leaving();
    for (const mutation of surveyed) {
      const glanced = { ...reconcile, observed: { ...reconcile.observed, depth: 'glance' } } as const;
      expect(describeObstacle(await afterSurvey()(mutation, glanced)), mutation.kind).to.equal('stop: ReadAgain');
      expect(describeObstacle(await afterSurvey()(mutation, reconcile)), mutation.kind).to.equal('go');
    }
  });

  it('lets the other changes pass after a glance', async () => {
    const reconcile = leaving();
    const glanced = { ...reconcile, observed: { ...reconcile.observed, depth: 'glance' } } as const;
    for (const mutation of passing)
      expect(describeObstacle(await afterSurvey()(mutation, glanced)), mutation.kind).to.equal('go');
  });
});

describe('tagsUnchanged', () => {
  const { arn } = aProfile();
  for (const mutation of [
    { kind: 'tagProfile', name: PROFILE, arn, tags: { [OWNER_TAG]: 'team-a/web' } },
    { kind: 'tagRole', name: ROLE, tags: {} },
  ] as const)
    it(`lets an adoption by ${mutation.kind} pass, unless the tags have changed since they were read`, async () => {
      const aws = awsWith(aSimulatedProfile({ tags: CAPA_TAGS }), aSimulatedRole({ tags: CAPA_TAGS }));
      const reconcile = reconcileStateFor(aws);
      expect(describeObstacle(await tagsUnchanged()(mutation, reconcile))).to.equal('go');
      for (const each of [...aws.profiles.values(), ...aws.roles.values()]) each.tags = { ...CAPA_TAGS, theirs: 'x' };
      expect(describeObstacle(await tagsUnchanged()(mutation, reconcile))).to.equal('stop: ReadAgain');
      for (const resources of [aws.profiles, aws.roles]) resources.clear();
      expect(describeObstacle(await tagsUnchanged()(mutation, reconcile)), 'gone').to.equal('stop: ReadAgain');
      reconcile.session.onCall = () => aFailure({ code: 'AccessDeniedException', statusCode: 403 });
      expect(describeObstacle(await tagsUnchanged()(mutation, reconcile))).to.equal('stop: AccessDenied');
    });
});

describe('mutationTimeLeft', () => {
  for (const [situation, remaining, timeLeft] of [
    ['that does not end', Infinity, 10_000],
    ['of fifteen seconds', 15_000, 10_000],
    ['that ends two seconds after the longest mutation', 12_000, 10_000],
    ['that ends sooner', 7_000, 5_000],
    ['in its last two seconds', 2_000, 0],
    ['that is over', 0, -2_000],
  ] as const)
    it(`allows ${timeLeft} ms with a lease ${situation}`, () => {
      expect(mutationTimeLeft({ remaining: () => remaining })).to.equal(timeLeft);
    });
});
