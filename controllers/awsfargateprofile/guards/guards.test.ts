import { expect } from 'chai';
import { KubeError } from '../../../pkg/kube/errors.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import type { FinalizerResult } from '../../shared/control-plane/control-plane-finalizer.ts';
import type { ServedSchemaState } from '../../shared/crd/served-schema.ts';
import { messageOf, newReason } from '../reasons/reasons.ts';
import { mutationKey, withRefusal } from '../retry/refused-mutations.ts';
import { aDeletedObject, anObject } from '../testing/builders.ts';
import {
  CONSTRUCTIVE,
  CREATE_PROFILE,
  CREATE_ROLE,
  DELETE_PROFILE,
  DELETE_ROLE,
  DESTRUCTIVE,
  describeObstacle,
} from '../testing/mutations.ts';
import type { ServiceOverrides } from '../testing/pass-state.ts';
import {
  LANE,
  passStateFor,
  awsAsWanted,
  awsWith,
  newGuards,
  newServices,
  writerThat,
  roleUsers,
} from '../testing/pass-state.ts';
import type { Guards, Obstacle } from './guards.ts';
import { findObstacle } from './guards.ts';

const SIBLING = anObject({ metadata: { name: 'api', uid: 'uid-of-api' } });

const calledGuards: string[] = [];
const guardThat = (name: string, obstacle?: Obstacle) => async (): Promise<Obstacle | undefined> => {
  calledGuards.push(name);
  return obstacle;
};

describe('findObstacle', () => {
  beforeEach(() => calledGuards.splice(0));

  it('runs the checks, then the preparations, and stops at the first obstacle', async () => {
    const inUse: Obstacle = { kind: 'keep', by: 'x' };
    const guards: Guards = {
      checks: [guardThat('check')],
      preparations: [guardThat('first preparation', inUse), guardThat('second preparation')],
    };
    expect(await findObstacle(guards, DELETE_ROLE, passStateFor(awsAsWanted()))).to.deep.equal(inUse);
    expect(calledGuards).to.deep.equal(['check', 'first preparation']);
  });

  it('prepares nothing for a mutation that a check holds back', async () => {
    const guards: Guards = {
      checks: [guardThat('check', { kind: 'keep', by: 'x' })],
      preparations: [guardThat('preparation')],
    };
    await findObstacle(guards, DELETE_ROLE, passStateFor(awsAsWanted()));
    expect(calledGuards).to.deep.equal(['check']);
  });

  describe('when a guard throws', () => {
    const throwing = (error: unknown): Guards => ({
      checks: [
        async () => {
          throw error;
        },
      ],
      preparations: [],
    });

    it('stops the pass with the message of an API server that rejects a request', async () => {
      const forbidden = new KubeError('listing awsfargateprofiles: forbidden', { status: 403, reason: 'Forbidden' });
      const obstacle = await findObstacle(throwing(forbidden), DELETE_ROLE, passStateFor(awsAsWanted()));
      expect(describeObstacle(obstacle)).to.equal('stop: APIServerRefused');
      expect(obstacle?.kind === 'stop' && messageOf(obstacle.reason)).to.contain(forbidden.message);
    });

    it('rethrows other errors', async () => {
      const silent = new KubeError('listing awsfargateprofiles: no answer', { status: 0, reason: 'NoAnswer' });
      for (const error of [silent, new TypeError('x is not a function')]) {
        const thrown = await findObstacle(throwing(error), DELETE_ROLE, passStateFor(awsAsWanted())).catch(
          (each: unknown) => each,
        );
        expect(thrown).to.equal(error);
      }
    });
  });
});

describe('newChecks and newPreparations', () => {
  it('let every mutation pass when no rule holds it back', async () => {
    for (const mutation of [...CONSTRUCTIVE, ...DESTRUCTIVE]) {
      const obstacle = await findObstacle(newGuards(newServices()), mutation, passStateFor(awsAsWanted()));
      expect(describeObstacle(obstacle), mutation.kind).to.equal('go');
    }
  });

  describe('hold a deletion back', () => {
    const liveAnswers = (blocker: string | undefined, user?: string): ServiceOverrides => ({
      live: { findBlocker: async () => blocker, readRoleUsers: async () => roleUsers(user) },
    });
    const isUnverified: ServedSchemaState = {
      kind: 'foreign',
      provider: 'infrastructure-aws',
      missing: ['spec.deletionPolicy'],
    };

    for (const [rule, over, expected] of [
      ['leaseValid', { mutationTimeLeft: () => 0 }, 'stop: NotNow'],
      ['noLiveBlocker', liveAnswers('the object is paused'), 'stop: NotNow'],
      ['schemaIsOurs', { schema: { check: async () => isUnverified } }, 'stop: ForeignSchema'],
      ['roleUnused', liveAnswers(undefined, 'team-a/api'), 'keep for AWSFargateProfile team-a/api'],
      [
        'markDeletion',
        { profileWriter: writerThat(async (object, status) => (status === undefined ? undefined : object)) },
        'stop: Conflict',
      ],
      [
        'writeAhead',
        { profileWriter: writerThat(async (object, status) => (status === undefined ? object : undefined)) },
        'stop: Conflict',
      ],
    ] satisfies readonly (readonly [string, ServiceOverrides, string])[])
      it(`by ${rule} alone`, async () => {
        const pass = passStateFor(awsAsWanted(), aDeletedObject());
        const obstacle = await findObstacle(newGuards(newServices(over)), DELETE_ROLE, pass);
        expect(describeObstacle(obstacle)).to.equal(expected);
      });

    it('by refusalExpired alone', async () => {
      const pass = passStateFor(awsAsWanted(), aDeletedObject());
      const generation = pass.object.metadata.generation ?? 0;
      const mutation = mutationKey(DELETE_ROLE, undefined);
      const reason = newReason('Refused', { detail: 'no' });
      pass.retry.update((state) => withRefusal(state, { mutation, reason, generation, notBefore: 60_000 }, 0));
      const obstacle = await findObstacle(newGuards(newServices()), DELETE_ROLE, pass);
      expect(describeObstacle(obstacle)).to.equal('stop: Refused');
    });

    for (const [what, mutation, slowStep] of [
      ['reads from EKS who uses the role', DELETE_ROLE, 'ListFargateProfiles'],
      ['asks EKS about the change of a stranger', DELETE_PROFILE, 'DescribeFargateProfile'],
    ] as const)
      for (const [change, expected] of [
        ['pause', 'stop: NotNow'],
        ['foreign CRD', 'stop: ForeignSchema'],
      ] as const)
        it(`by a ${change} that begins while the pass ${what}`, async () => {
          const pass = passStateFor(awsAsWanted(), aDeletedObject());
          const hasBegun = (which: typeof change): boolean =>
            which === change && pass.session.calls.some((call) => call.startsWith(slowStep));
          const live = {
            findBlocker: async () => (hasBegun('pause') ? 'the object is paused' : undefined),
            readRoleUsers: async () => roleUsers(),
          };
          const schema = {
            check: async (): Promise<ServedSchemaState> => (hasBegun('foreign CRD') ? isUnverified : { kind: 'ours' }),
          };
          const testServices = newServices({ live, schema });
          testServices.lanes.saw(LANE, 'theirs', 'being created');
          expect(describeObstacle(await findObstacle(newGuards(testServices), mutation, pass))).to.equal(expected);
        });

    it('by takeTurn alone', async () => {
      const testServices = newServices();
      testServices.lanes.saw(LANE, 'team-a_api', 'being deleted', SIBLING);
      const obstacle = await findObstacle(
        newGuards(testServices),
        DELETE_PROFILE,
        passStateFor(awsAsWanted(), aDeletedObject()),
      );
      expect(describeObstacle(obstacle)).to.equal('stop: WaitingForSibling');
    });
  });

  describe('confirm the control plane finalizer', () => {
    const services = (result: FinalizerResult) => {
      const confirmed: ObjectKey[] = [];
      const confirm = async (key: ObjectKey): Promise<FinalizerResult> => {
        confirmed.push(key);
        return result;
      };
      return { confirmed, guards: newGuards(newServices({ controlPlaneFinalizer: { confirm } })) };
    };

    for (const mutation of [CREATE_ROLE, CREATE_PROFILE])
      it(`before ${mutation.kind}, and send nothing for a control plane that is being deleted`, async () => {
        const { guards, confirmed } = services({ kind: 'controlPlaneDeleting' });
        const obstacle = await findObstacle(guards, mutation, passStateFor(awsWith()));
        expect(describeObstacle(obstacle)).to.equal('stop: ClusterDeleting');
        expect(confirmed).to.deep.equal([{ namespace: 'team-a', name: 'prod-control-plane' }]);
      });

    it('and wait if the API server rejects it', async () => {
      const { guards } = services({ kind: 'rejected', reason: 'the webhook is down' });
      const obstacle = await findObstacle(guards, CREATE_PROFILE, passStateFor(awsWith()));
      expect(describeObstacle(obstacle)).to.equal('stop: GuardRefused');
    });

    it('never before a deletion', async () => {
      const { guards, confirmed } = services({ kind: 'controlPlaneDeleting' });
      const pass = passStateFor(awsAsWanted(), aDeletedObject());
      expect(describeObstacle(await findObstacle(guards, DELETE_PROFILE, pass))).to.equal('go');
      expect(confirmed).to.deep.equal([]);
    });
  });

  it('write nothing for an object that waits for its turn', async () => {
    const writes: string[] = [];
    const testServices = newServices({
      profileWriter: writerThat(async (object) => {
        writes.push(object.metadata.name);
        return object;
      }),
    });
    testServices.lanes.saw(LANE, 'team-a_api', 'being created', SIBLING);
    const obstacle = await findObstacle(newGuards(testServices), CREATE_PROFILE, passStateFor(awsAsWanted()));
    expect(describeObstacle(obstacle)).to.equal('stop: WaitingForSibling');
    expect(writes).to.deep.equal([]);
  });
});
