import { expect } from 'chai';
import type { AwsFailure } from '../../pkg/cloud/failure.ts';
import { KubeError } from '../../pkg/kube/errors.ts';
import { isCreateUnseen, rememberUnseen, rememberWaiting } from './memory.ts';
import type { Step } from './model.ts';
import type { Dropped, End } from './pass.ts';
import type { Flight, GuardServices } from './preflight.ts';
import { guards } from './preflight.ts';
import { why } from './reasons.ts';
import { runSteps } from './steps.ts';
import { POD_EXECUTION_POLICY, PROFILE, ROLE, aDeletedObject, aFailure, anObject } from './testing/builders.ts';
import type { SimulatedAws } from './testing/simulated-aws.ts';
import type { TestServices } from './testing/flight.ts';
import {
  LANE,
  aSimulatedProfile,
  aSimulatedRole,
  awsWith,
  flightIn,
  services,
  siblingTicket,
} from './testing/flight.ts';

const wordOf = (end: End | Dropped): string => {
  switch (end.kind) {
    case 'settled':
      return 'settled';
    case 'stopped':
      return `stopped: ${end.why.reason}`;
    case 'conflict':
      return end.kind;
    case 'quit':
      return `quit: ${end.because}`;
  }
};

describe('runSteps', () => {
  let asking: TestServices;
  beforeEach(() => (asking = services()));

  const run = async (flight: Flight, over: Partial<GuardServices> = {}) => {
    const trail: Step[] = [];
    const end = await runSteps(flight, trail, { guards: guards({ ...asking, ...over }), ...asking });
    return { end: wordOf(end), did: trail.map(({ mutation, outcome }) => `${mutation.kind} ${outcome.kind}`) };
  };

  it('makes role and profile, and waits for EKS', async () => {
    const aws = awsWith();
    expect(await run(flightIn(aws))).to.deep.equal({
      end: 'stopped: Creating',
      did: ['createRole done', 'attachPolicy done', 'createProfile done'],
    });
    expect(aws.profiles.get(PROFILE)?.status).to.equal('CREATING');
  });

  for (const [what, error, end] of [
    ['a guard throws', new Error('no answer'), 'no answer'],
    [
      'the API server refuses what a guard needs',
      new KubeError('forbidden', { status: 403, reason: 'Forbidden' }),
      'stopped: APIServerRefused',
    ],
  ] as const)
    it(`has told what it did where ${what} after that`, async () => {
      const record: GuardServices['record'] = (mutation, { object }) =>
        mutation.kind === 'createProfile' ? Promise.reject(error) : Promise.resolve(object);
      const trail: Step[] = [];
      const options = { guards: guards({ ...asking, record }), ...asking };
      const ended = await runSteps(flightIn(awsWith()), trail, options).then(wordOf, (thrown: Error) => thrown.message);
      expect(ended).to.equal(end);
      expect(trail.map(({ mutation }) => mutation.kind)).to.deep.equal(['createRole', 'attachPolicy']);
    });

  it('does nothing where all is as wanted', async () => {
    const flight = flightIn(awsWith(aSimulatedProfile(), aSimulatedRole()));
    expect(await run(flight)).to.deep.equal({ end: 'settled', did: [] });
    expect(flight.session.calls).to.deep.equal([]);
  });

  it('deletes the profile, and the role once that is gone', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    expect(await run(flightIn(aws, aDeletedObject()))).to.deep.equal({
      end: 'stopped: DeletingProfile',
      did: ['deleteProfile done'],
    });
    aws.tick();
    expect(await run(flightIn(aws, aDeletedObject()))).to.deep.equal({
      end: 'settled',
      did: ['detachPolicy done', 'deleteRole done'],
    });
    expect([...aws.roles.keys()]).to.deep.equal([]);
  });

  it('leaves a role that something else uses, and goes on without it', async () => {
    const live = { ...asking.live, otherUserOf: async () => 'team-a/other' };
    const aws = awsWith(aSimulatedRole());
    expect(await run(flightIn(aws, aDeletedObject()), { live })).to.deep.equal({ end: 'settled', did: [] });
    expect(aws.roles.get(ROLE.toLowerCase())?.attached).to.deep.equal([POD_EXECUTION_POLICY]);
  });

  it('quits where the world is not what it believes', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    expect(await run(flightIn(aws, aDeletedObject()), { mutationBudget: () => 0 })).to.deep.equal({
      end: 'quit: the lease may have run out',
      did: [],
    });
    expect(aws.profiles.get(PROFILE)?.status).to.equal('ACTIVE');
  });

  /** The role was not looked at while the profile was there. */
  async function endsAfterAnotherLook(aws: SimulatedAws, flight: Flight, first: string): Promise<void> {
    expect(await run(flight)).to.deep.equal({ end: 'quit: the roles are to be looked at now', did: [first] });
    expect(await run(flightIn(aws, aDeletedObject()))).to.deep.equal({
      end: 'settled',
      did: ['detachPolicy done', 'deleteRole done'],
    });
    expect([...aws.roles.keys()]).to.deep.equal([]);
  }

  it('takes what is gone already for gone', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    const flight = flightIn(aws, aDeletedObject());
    aws.profiles.clear();
    await endsAfterAnotherLook(aws, flight, 'deleteProfile vanished');
  });

  it('takes a cluster that is gone for the end of its profiles', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    const flight = flightIn(aws, aDeletedObject());
    aws.cluster = 'gone';
    await endsAfterAnotherLook(aws, flight, 'deleteProfile clusterGone');
  });

  describe('the turn', () => {
    const isFree = (): boolean => {
      const turn = asking.turns.ask(siblingTicket('api'));
      asking.turns.release(siblingTicket('api'));
      return turn.kind === 'yours';
    };

    it('is kept while EKS is busy with what it took', async () => {
      await run(flightIn(awsWith(aSimulatedRole())));
      expect(asking.turns.ask(siblingTicket('api'))).to.deep.equal({
        kind: 'wait',
        ahead: PROFILE,
        doing: 'being created',
        foreign: false,
      });
    });

    it('is given back when EKS refuses', async () => {
      const flight = flightIn(awsWith(aSimulatedRole()));
      flight.session.onCall = () => aFailure({ code: 'InvalidParameterException', statusCode: 400 });
      expect((await run(flight)).end).to.equal('stopped: Refused');
      expect(isFree()).to.equal(true);
    });

    it('is given back when the record could not be written', async () => {
      const flight = flightIn(awsWith(aSimulatedRole()));
      expect(await run(flight, { record: async () => undefined })).to.deep.equal({
        end: 'conflict',
        did: [],
      });
      expect(isFree()).to.equal(true);
    });

    it('is given back when writing the record fails', async () => {
      const flight = flightIn(awsWith(aSimulatedRole()));
      const failing = { record: () => Promise.reject(new Error('no answer from the API server')) };
      const error = await run(flight, failing).catch((reason: unknown) => reason);
      expect(error).to.be.an('error');
      expect(isFree()).to.equal(true);
    });

    it('is of whoever is ahead in EKS', async () => {
      const aws = awsWith(aSimulatedRole());
      const flight = flightIn(aws);
      aws.profiles.set('theirs', aSimulatedProfile({ name: 'theirs', tags: {}, status: 'DELETING' }));
      expect(await run(flight)).to.deep.equal({
        end: 'stopped: WaitingForSibling',
        did: ['createProfile siblingBusy'],
      });
      expect(asking.turns.ask(siblingTicket('api'))).to.deep.equal({
        kind: 'wait',
        ahead: 'theirs',
        doing: 'being deleted',
        foreign: true,
      });
    });

    const refusals: readonly (readonly [what: string, code: string, statusCode: number, message: string])[] = [
      [
        'is being updated',
        'ResourceInUseException',
        409,
        'Cannot create Fargate Profile because cluster c currently has an update in progress',
      ],
      ['is not ACTIVE', 'InvalidRequestException', 400, "Cluster 'c' is not in ACTIVE status"],
    ];
    for (const [what, code, statusCode, message] of refusals) {
      it(`is nobody’s for a while when the cluster ${what}`, async () => {
        const flight = flightIn(awsWith(aSimulatedRole()));
        flight.session.onCall = () => aFailure({ code, statusCode, message });
        expect((await run(flight)).end).to.equal('stopped: ClusterUpdating');
        expect(asking.turns.ask(siblingTicket('api'))).to.deep.equal({ kind: 'closed', until: 15_000 });
        await asking.clock.advance(15_000);
        expect(isFree()).to.equal(true);
      });

      it(`is nobody’s for longer when the cluster ${what} for long: asked every five minutes at last`, async () => {
        const closedAfter = async (waited: number): Promise<number> => {
          const flight = flightIn(awsWith(aSimulatedRole()));
          flight.memory = rememberWaiting({}, why('ClusterUpdating', { cluster: 'c', remaining: 0 }), 0);
          flight.session.onCall = () => aFailure({ code, statusCode, message });
          await asking.clock.advance(waited - asking.clock.monotonic());
          await run(flight);
          const answer = asking.turns.ask(siblingTicket('api'));
          return answer.kind === 'closed' ? answer.until - asking.clock.monotonic() : 0;
        };
        expect(await closedAfter(15 * 60_000), 'a quarter of an hour').to.equal(15_000);
        expect(await closedAfter(60 * 60_000), 'an hour').to.equal(60_000);
        expect(await closedAfter(48 * 60 * 60_000), 'two days').to.equal(5 * 60_000);
      });
    }

    it('is not asked for by a change that EKS does not queue', async () => {
      asking.turns.busy(LANE, 'team-a_api', 'being created', false);
      const flight = flightIn(awsWith(aSimulatedProfile(), aSimulatedRole({ attached: [] })));
      expect(await run(flight)).to.deep.equal({ end: 'settled', did: ['attachPolicy done'] });
    });
  });

  describe('AWS contradicting itself', () => {
    const contradiction: readonly (readonly [string, () => Flight])[] = [
      [
        'a profile that exists and cannot be found',
        () => {
          const aws = awsWith(aSimulatedRole());
          aws.profiles.set(PROFILE, aSimulatedProfile({ hidden: 1 }));
          return flightIn(aws);
        },
      ],
      [
        'a role that exists and could not be found',
        () => {
          const aws = awsWith();
          const flight = flightIn(aws);
          aws.roles.set(ROLE.toLowerCase(), aSimulatedRole());
          return flight;
        },
      ],
      [
        'a role that was found and cannot be changed',
        () => {
          const aws = awsWith(aSimulatedRole({ attached: [] }));
          const flight = flightIn(aws);
          aws.roles.clear();
          return flight;
        },
      ],
    ];
    for (const [what, given] of contradiction) {
      it(`is waited for, for two minutes: ${what}`, async () => {
        expect((await run(given())).end).to.equal('stopped: Propagating');
        const late = given();
        late.memory = rememberWaiting({}, why('Propagating', { words: '' }), 0);
        await asking.clock.advance(120_000);
        expect((await run(late)).end).to.equal('stopped: AWSError');
      });
    }

    it('is waited for: a role from which everything was taken and that is not seen so', async () => {
      const flight = flightIn(awsWith(aSimulatedRole()), aDeletedObject());
      const lagging = aFailure({ code: 'DeleteConflict', statusCode: 409, message: 'must detach all policies first.' });
      flight.session.onCall = (operation) => (operation === 'DeleteRole' ? lagging : undefined);
      expect((await run(flight)).end).to.equal('stopped: Propagating');
    });
  });

  describe('the trust policy that EKS does not accept', () => {
    const misconfigured = aFailure({
      code: 'InvalidParameterException',
      statusCode: 400,
      message:
        'Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal',
    });
    const given = (generation = 1): Flight => {
      const flight = flightIn(awsWith(aSimulatedRole()), anObject({ metadata: { generation } }));
      flight.session.onCall = () => misconfigured;
      return flight;
    };

    it('is waited for, for two minutes, then shown', async () => {
      const first = given();
      expect((await run(first)).end).to.equal('stopped: Propagating');
      await asking.clock.advance(119_999);
      const second = { ...given(), memory: first.memory };
      expect((await run(second)).end).to.equal('stopped: Propagating');
      await asking.clock.advance(1);
      const third = { ...given(), memory: second.memory };
      expect((await run(third)).end).to.equal('stopped: RoleTrustInvalid');
      const mended = { ...given(2), memory: third.memory };
      expect((await run(mended)).end, 'with another spec').to.equal('stopped: Propagating');
    });
  });

  describe('a failure', () => {
    const failing = (failure: Partial<AwsFailure>): Flight => {
      const flight = flightIn(awsWith(aSimulatedRole()));
      flight.session.onCall = () => aFailure(failure);
      return flight;
    };

    it('ends the pass with what it means', async () => {
      expect(await run(failing({ code: 'AccessDeniedException', statusCode: 403 }))).to.deep.equal({
        end: 'stopped: AccessDenied',
        did: ['createProfile failed'],
      });
    });

    it('is not provoked again before its time', async () => {
      const flight = failing({ code: 'AccessDeniedException', statusCode: 403 });
      await run(flight);
      expect(await run(flight)).to.deep.equal({ end: 'stopped: AccessDenied', did: [] });
      await asking.clock.advance(60_000);
      expect((await run(flight)).did).to.deep.equal(['createProfile failed']);
    });

    it('that stopped the call before it was sent says nothing of the object', async () => {
      expect((await run(failing({ code: 'NotDispatched', message: 'the lease has run out' }))).end).to.equal(
        'quit: the lease has run out',
      );
    });
  });

  describe('a create', () => {
    const ASKED = '2026-11-21T03:25:00Z';
    const recording: Partial<GuardServices> = {
      record: async () => anObject({ status: { profileName: PROFILE, createRequestedAt: ASKED } }),
    };
    const mayAppear = ({ memory }: Flight): boolean =>
      isCreateUnseen(rememberUnseen(memory, { createRequestedAt: ASKED }, 0), 0);

    it('that was taken is seen', async () => {
      const flight = flightIn(awsWith(aSimulatedRole()));
      await run(flight, recording);
      expect(mayAppear(flight)).to.equal(false);
    });

    it('whose answer never came may still appear', async () => {
      const flight = flightIn(awsWith(aSimulatedRole()));
      flight.memory = { answered: ASKED };
      flight.session.onCall = () => aFailure({ code: 'NoAnswer' });
      await run(flight, recording);
      expect(mayAppear(flight)).to.equal(true);
    });

    for (const [what, failure] of [
      ['was stopped before it was sent', { code: 'NotDispatched' }],
      ['EKS refused', { code: 'InvalidParameterException', statusCode: 400 }],
    ] as const)
      it(`that ${what} cannot appear, unless an earlier one may`, async () => {
        for (const createUnseen of [false, true]) {
          const asked = anObject({ status: { profileName: PROFILE } });
          const flight = flightIn(awsWith(aSimulatedRole()), asked, { createUnseen });
          flight.session.onCall = () => aFailure(failure);
          expect((await run(flight, recording)).did).to.deep.equal(['createProfile failed']);
          expect(mayAppear(flight)).to.equal(createUnseen);
        }
      });
  });

  it('counts how often a failed profile was tried again', async () => {
    const flight = flightIn(awsWith(aSimulatedRole(), aSimulatedProfile({ status: 'CREATE_FAILED' })));
    expect((await run(flight)).end).to.equal('stopped: CreateFailed');
    await asking.clock.advance(10_000);
    expect(await run(flight)).to.deep.equal({ end: 'stopped: DeletingProfile', did: ['deleteProfile done'] });
    expect(flight.memory.recovery).to.deep.equal({ generation: 1, attempts: 1 });
  });

  it('gives up with an error where a decision goes round in circles', async () => {
    const flight = flightIn(awsWith(aSimulatedRole({ attached: [] }), aSimulatedProfile()));
    const forgetful = Object.defineProperty({ ...flight }, 'observed', { get: () => flight.observed, set: () => {} });
    const error = await run(forgetful).catch((reason: unknown) => reason);
    expect(error)
      .to.be.an('error')
      .with.property('message')
      .that.matches(/^no end after 24 steps; the last was .*attachPolicy/);
  });
});
