import { expect } from 'chai';
import type { FinalizerResult } from '../../shared/control-plane/control-plane-finalizer.ts';
import type { ServedSchemaState } from '../../shared/crd/served-schema.ts';
import type { Mutation } from '../model/change.ts';
import { newReason } from '../reasons/reasons.ts';
import { mutationKey, withRefusal } from '../retry-state.ts';
import { CREATION_FACTS, FULL_RECORD, ROLE, aDeletedObject, anObject } from '../testing/builders.ts';
import { READY } from '../testing/completed-reconcile.ts';
import {
  CONSTRUCTIVE,
  CREATE_PROFILE,
  CREATE_ROLE,
  DELETE_ACCESS_ENTRY,
  DELETE_PROFILE,
  DELETE_ROLE,
  DESTRUCTIVE,
  describeObstacle,
} from '../testing/mutations.ts';
import {
  type ServiceOverrides,
  type TestServices,
  QUEUE,
  NO_ROLE_USERS,
  aSimulatedProfile,
  aSimulatedRole,
  reconcileStateFor,
  awsAsDesired,
  awsWith,
  newServices,
  writerThat,
  roleUsers,
} from '../testing/reconcile-state.ts';
import { type ReconcileState, findObstacle } from './guards.ts';
import { newGuards } from './guard-order.ts';
import { holdControlPlane } from './preparations.ts';

const SIBLING = anObject({ metadata: { name: 'api', uid: 'uid-of-api' } });
const leaving = () => reconcileStateFor(awsWith(aSimulatedRole()), aDeletedObject());
const obstacleTo = async (mutation: Mutation, reconcile: ReconcileState, services: TestServices): Promise<string> =>
  describeObstacle(await findObstacle(newGuards(services), mutation, reconcile));

describe('findObstacle', () => {
  it('runs the guards in their order, and stops at the first obstacle', async () => {
    const called: string[] = [];
    const guardThat = (name: string, by?: string) => async () => {
      called.push(name);
      return by === undefined ? undefined : ({ kind: 'keep', by } as const);
    };
    const guards = [guardThat('first'), guardThat('second', 'x'), guardThat('third', 'y')];
    expect(await findObstacle(guards, DELETE_ROLE, leaving())).to.deep.equal({ kind: 'keep', by: 'x' });
    expect(called).to.deep.equal(['first', 'second']);
  });
});

describe('newGuards', () => {
  it('let every mutation pass when no rule holds it back', async () => {
    for (const mutation of [...CONSTRUCTIVE, ...DESTRUCTIVE])
      expect(
        await obstacleTo(mutation, reconcileStateFor(awsWith(aSimulatedRole())), newServices()),
        mutation.kind,
      ).to.equal('go');
  });

  const FOREIGN: ServedSchemaState = { kind: 'foreign', provider: 'infrastructure-aws', missing: [] };
  const usedBy = (user: string): ServiceOverrides => ({
    roleUsers: { ...NO_ROLE_USERS, usersOf: async () => roleUsers(user) },
  });
  /** Another client writes the object before each write of its metadata. */
  const forestalled: ServiceOverrides = {
    profileWriter: writerThat(async (object, status) => (status === undefined ? undefined : object)),
  };

  describe('hold a deletion back', () => {
    for (const [rule, over, expected] of [
      ['leaseValid', { mutationTimeLeft: () => 0 }, 'stop: NotNow'],
      ['roleUnused', usedBy('team-a/api'), 'keep for AWSFargateProfile team-a/api'],
      ['recordChange', forestalled, 'stop: Conflict'],
    ] satisfies readonly (readonly [string, ServiceOverrides, string])[])
      it(`by ${rule} alone`, async () =>
        expect(await obstacleTo(DELETE_ROLE, leaving(), newServices(over))).to.equal(expected));

    it('by reportNotReady alone', async () => {
      const profileWriter = writerThat(async (object, status) => (status === undefined ? object : undefined));
      const reconcile = reconcileStateFor(awsAsDesired(), aDeletedObject({ record: FULL_RECORD, status: READY }));
      expect(await obstacleTo(DELETE_PROFILE, reconcile, newServices({ profileWriter }))).to.equal('stop: Conflict');
    });

    it('by afterSurvey alone', async () => {
      const reconcile = leaving();
      const glanced = { ...reconcile, observed: { ...reconcile.observed, depth: 'glance' } } as const;
      expect(await obstacleTo(DELETE_PROFILE, glanced, newServices())).to.equal('stop: ReadAgain');
    });

    it('by tagsUnchanged alone', async () => {
      const aws = awsWith(aSimulatedRole({ tags: {} }));
      const reconcile = reconcileStateFor(aws);
      aws.roles.set(ROLE.toLowerCase(), aSimulatedRole());
      const adoption = { kind: 'tagRole', name: ROLE, tags: {} } as const;
      expect(await obstacleTo(adoption, reconcile, newServices())).to.equal('stop: ReadAgain');
    });

    it('by roleUnused alone, of an access entry', async () => {
      const reconcile = reconcileStateFor(awsWith(aSimulatedRole(), aSimulatedProfile({ name: 'theirs', tags: {} })));
      const deletion = { ...DELETE_ACCESS_ENTRY, because: 'profileCreation' } as const;
      expect(await obstacleTo(deletion, reconcile, newServices())).to.equal('keep for Fargate profile "theirs"');
    });

    it('by refusalExpired alone, until the backoff of the refusal is over', async () => {
      const [reconcile, services] = [leaving(), newServices()];
      const refused = { mutation: mutationKey(DELETE_ROLE, undefined), reason: newReason('Refused', { detail: 'no' }) };
      reconcile.retry.update((state) =>
        withRefusal(state, { ...refused, generation: 2, since: 0, notBefore: 60_000 }, 0),
      );
      expect(await obstacleTo(DELETE_ROLE, reconcile, services)).to.equal('stop: Refused');
      await services.clock.advance(60_000);
      expect(await obstacleTo(DELETE_ROLE, reconcile, services)).to.equal('go');
    });

    for (const [problem, from, expected] of [
      [
        'a foreign CRD',
        (hasBegun) => ({ schema: { check: async () => (hasBegun() ? FOREIGN : { kind: 'ours' }) } }),
        'stop: ForeignSchema',
      ],
      [
        'a pause',
        (hasBegun) => ({ findLiveBlocker: async () => (hasBegun() ? 'the object is paused' : undefined) }),
        'stop: NotNow',
      ],
    ] satisfies readonly (readonly [string, from: (hasBegun: () => boolean) => ServiceOverrides, string])[])
      for (const [what, mutation, slowStep] of [
        ['reads from EKS who uses the role', DELETE_ROLE, 'ListFargateProfiles'],
        ['asks EKS about the change of another client', DELETE_PROFILE, 'DescribeFargateProfile'],
      ] as const)
        it(`by ${problem} that begins while the reconcile ${what}`, async () => {
          const reconcile = leaving();
          const services = newServices(from(() => reconcile.session.calls.some((call) => call.startsWith(slowStep))));
          services.clusterQueues.saw(QUEUE, 'theirs', 'being created');
          expect(await obstacleTo(mutation, reconcile, services)).to.equal(expected);
        });
  });

  it('hold a creation back by roleShareable alone', async () => {
    const sharersOf = async () => ({ possibleDeleter: 'team-a/api', sharers: [] });
    const services = newServices({ roleUsers: { ...NO_ROLE_USERS, sharersOf } });
    const obstacle = await obstacleTo(CREATE_ROLE, reconcileStateFor(awsWith()), services);
    expect(obstacle).to.equal('stop: WaitingForRoleDeletion');
  });

  for (const [result, mutation, object, expected] of [
    [{ kind: 'controlPlaneDeleting' }, CREATE_ROLE, anObject(), 'stop: ClusterDeleting'],
    [{ kind: 'controlPlaneDeleting' }, CREATE_PROFILE, anObject(), 'stop: ClusterDeleting'],
    [{ kind: 'rejected', reason: 'the webhook is down' }, CREATE_PROFILE, anObject(), 'stop: GuardRefused'],
    [{ kind: 'controlPlaneDeleting' }, DELETE_PROFILE, aDeletedObject(), undefined],
  ] as const)
    it(`${expected === undefined ? 'do not ' : ''}confirm the control plane finalizer before ${mutation.kind}: ${result.kind}`, async () => {
      const confirmed: string[] = [];
      const confirm = async ({ name }: { readonly name: string }): Promise<FinalizerResult> => {
        confirmed.push(name);
        return result;
      };
      const services = newServices({ controlPlaneFinalizer: { confirm } });
      const aws = expected === undefined ? awsAsDesired() : awsWith();
      expect(await obstacleTo(mutation, reconcileStateFor(aws, object), services)).to.equal(expected ?? 'go');
      expect(confirmed).to.deep.equal(expected === undefined ? [] : ['prod-control-plane']);
    });

  it('hold and confirm no control plane of an EKS cluster that Cluster API does not manage', async () => {
    const controlPlaneFinalizer = { add: () => expect.fail('added'), confirm: () => expect.fail('confirmed') };
    const facts = { ...CREATION_FACTS, controlPlane: undefined };
    const reconcile = { ...reconcileStateFor(awsWith()), creationFacts: facts };
    expect(await obstacleTo(CREATE_ROLE, reconcile, newServices({ controlPlaneFinalizer }))).to.equal('go');
    expect(await holdControlPlane(controlPlaneFinalizer, facts, reconcile.signal)).to.equal(facts);
  });

  it('write nothing for an object that waits for its turn', async () => {
    const services = newServices({ profileWriter: writerThat(async () => expect.fail('the object is written')) });
    services.clusterQueues.saw(QUEUE, 'team-a_api', 'being created', SIBLING);
    expect(await obstacleTo(CREATE_PROFILE, reconcileStateFor(awsAsDesired()), services)).to.equal(
      'stop: WaitingForSibling',
    );
  });
});
