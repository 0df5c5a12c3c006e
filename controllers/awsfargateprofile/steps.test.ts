import { expect } from 'chai';
import type { AwsFailure } from '../../pkg/cloud/errors/failure.ts';
import { KubeError } from '../../pkg/kube/errors.ts';
import { AccessEntryReader } from './aws/read-access-entry.ts';
import { isCreateUnconfirmed, withUnconfirmedCreate } from './retry/create-visibility.ts';
import { withWait } from './retry/retry-state.ts';
import type { Step } from './model/outcome.ts';
import type { DroppedPass, PassEnd } from './model/pass.ts';
import type { PassState } from './guards/pass-state.ts';
import { newReason } from './reasons/reasons.ts';
import { runSteps } from './steps.ts';
import {
  POD_EXECUTION_POLICY,
  PROFILE,
  ROLE,
  ROLE_ARN,
  aDeletedObject,
  aFailure,
  anObject,
} from './testing/builders.ts';
import type { SimulatedAws } from './testing/simulated-aws.ts';
import type { ServiceOverrides, TestServices } from './testing/pass-state.ts';
import {
  QUEUE,
  aSimulatedProfile,
  aSimulatedRole,
  awsWith,
  passStateFor,
  newGuards,
  newServices,
  siblingEntry,
  storedObject,
  writerThat,
  roleUsers,
} from './testing/pass-state.ts';

const describeEnd = (end: PassEnd | DroppedPass): string => {
  switch (end.kind) {
    case 'settled':
      return 'settled';
    case 'stopped':
      return `stopped: ${end.reason.name}`;
    case 'conflict':
      return end.kind;
    case 'quit':
      return `quit: ${end.because}`;
  }
};

describe('runSteps', () => {
  let testServices: TestServices;
  beforeEach(() => (testServices = newServices()));

  const run = async (pass: PassState, over: ServiceOverrides = {}) => {
    const steps: Step[] = [];
    const end = await runSteps(pass, steps, {
      ...testServices,
      accessEntryReader: new AccessEntryReader(testServices.clock),
      guards: newGuards({
        ...testServices,
        ...over,
        clock: testServices.clock,
        live: { ...testServices.live, ...over.live },
        woken: [],
      }),
    });
    return { end: describeEnd(end), did: steps.map(({ mutation, outcome }) => `${mutation.kind} ${outcome.kind}`) };
  };

  it('creates role and profile, and waits for EKS', async () => {
    const aws = awsWith();
    expect(await run(passStateFor(aws))).to.deep.equal({
      end: 'stopped: Creating',
      did: ['createRole done', 'attachPolicy done', 'createProfile done'],
    });
    expect(aws.profiles.get(PROFILE)?.status).to.equal('CREATING');
  });

  for (const [situation, error, end] of [
    ['a guard throws', new Error('no answer'), 'no answer'],
    [
      'the API server rejects a request of a guard',
      new KubeError('forbidden', { status: 403, reason: 'Forbidden' }),
      'stopped: APIServerRefused',
    ],
  ] as const)
    it(`returns the earlier steps when ${situation}`, async () => {
      const profileWriter = writerThat((object, status) =>
        status?.createRequestedAt === undefined ? Promise.resolve(storedObject(object, status)) : Promise.reject(error),
      );
      const steps: Step[] = [];
      const accessEntryReader = new AccessEntryReader(testServices.clock);
      const options = { ...testServices, accessEntryReader, guards: newGuards({ ...testServices, profileWriter }) };
      const ended = await runSteps(passStateFor(awsWith()), steps, options).then(
        describeEnd,
        (thrown: Error) => thrown.message,
      );
      expect(ended).to.equal(end);
      expect(steps.map(({ mutation }) => mutation.kind)).to.deep.equal(['createRole', 'attachPolicy']);
    });

  it('sends no mutation when AWS is as desired', async () => {
    const role = { name: ROLE, id: 'AROAEXAMPLE', accessEntryCheckedFor: 'AROAEXAMPLE' };
    const pass = passStateFor(awsWith(aSimulatedProfile(), aSimulatedRole()), anObject({ status: { role } }));
    expect(await run(pass)).to.deep.equal({ end: 'settled', did: [] });
    expect(pass.session.calls).to.deep.equal([]);
  });

  it('deletes a role with as many policies as IAM allows in one pass', async () => {
    const attached = Array.from({ length: 25 }, (_, index) => `arn:aws:iam::aws:policy/p${index}`);
    const aws = awsWith({ ...aSimulatedRole(), attached });
    expect((await run(passStateFor(aws, aDeletedObject()))).end).to.equal('settled');
    expect(aws.roles.size).to.equal(0);
  });

  it('deletes the profile, and the role once EKS has deleted the profile', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    expect(await run(passStateFor(aws, aDeletedObject()))).to.deep.equal({
      end: 'stopped: DeletingProfile',
      did: ['deleteProfile done'],
    });
    aws.tick();
    expect(await run(passStateFor(aws, aDeletedObject()))).to.deep.equal({
      end: 'settled',
      did: ['detachPolicy done', 'deleteRole done'],
    });
    expect([...aws.roles.keys()]).to.deep.equal([]);
  });

  it('keeps a role that another object uses, and settles without that role', async () => {
    const live = { ...testServices.live, readRoleUsers: async () => roleUsers('team-a/other') };
    const aws = awsWith(aSimulatedRole());
    expect(await run(passStateFor(aws, aDeletedObject()), { live })).to.deep.equal({ end: 'settled', did: [] });
    expect(aws.roles.get(ROLE.toLowerCase())?.attached).to.deep.equal([POD_EXECUTION_POLICY]);
  });

  it('quits without a mutation when the lease may have run out', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    expect(await run(passStateFor(aws, aDeletedObject()), { mutationTimeLeft: () => 0 })).to.deep.equal({
      end: 'quit: the lease may have run out',
      did: [],
    });
    expect(aws.profiles.get(PROFILE)?.status).to.equal('ACTIVE');
  });

  /**
   * Expects that the deletion takes two reconciles. The first finds that the Fargate profile is gone, and has not read
   * the role, so only the second deletes the role.
   */
  async function expectDeletionInTwoPasses(aws: SimulatedAws, pass: PassState, first: string): Promise<void> {
    expect(await run(pass)).to.deep.equal({ end: 'quit: the roles have to be read now', did: [first] });
    expect(await run(passStateFor(aws, aDeletedObject()))).to.deep.equal({
      end: 'settled',
      did: ['detachPolicy done', 'deleteRole done'],
    });
    expect([...aws.roles.keys()]).to.deep.equal([]);
  }

  it('treats a profile that is gone already as deleted', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    const pass = passStateFor(aws, aDeletedObject());
    aws.profiles.clear();
    await expectDeletionInTwoPasses(aws, pass, 'deleteProfile gone');
  });

  it('treats the profiles of a missing EKS cluster as deleted', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    const pass = passStateFor(aws, aDeletedObject());
    aws.cluster = 'gone';
    await expectDeletionInTwoPasses(aws, pass, 'deleteProfile clusterGone');
  });

  describe('the turn in the queue of the EKS cluster', () => {
    const isFree = (): boolean => {
      const turn = testServices.clusterQueue.requestTurn(siblingEntry('api'));
      testServices.clusterQueue.releaseTurn(siblingEntry('api'));
      return turn.kind === 'granted';
    };

    it('is kept while EKS works on the accepted mutation', async () => {
      await run(passStateFor(awsWith(aSimulatedRole())));
      expect(testServices.clusterQueue.requestTurn(siblingEntry('api'))).to.deep.equal({
        kind: 'wait',
        ahead: PROFILE,
        doing: 'being created',
        isUnverified: false,
      });
    });

    it('is returned when EKS refuses the mutation', async () => {
      const pass = passStateFor(awsWith(aSimulatedRole()));
      pass.session.onCall = () => aFailure({ code: 'InvalidParameterException', statusCode: 400 });
      expect((await run(pass)).end).to.equal('stopped: Refused');
      expect(isFree()).to.equal(true);
    });

    it('is returned when another client wrote before the status write', async () => {
      const pass = passStateFor(awsWith(aSimulatedRole()));
      expect(await run(pass, { profileWriter: writerThat(async () => undefined) })).to.deep.equal({
        end: 'conflict',
        did: [],
      });
      expect(isFree()).to.equal(true);
    });

    it('is returned when the status write fails', async () => {
      const pass = passStateFor(awsWith(aSimulatedRole()));
      const failing = { profileWriter: writerThat(() => Promise.reject(new Error('no answer from the API server'))) };
      const error = await run(pass, failing).catch((reason: unknown) => reason);
      expect(error).to.be.an('error');
      expect(isFree()).to.equal(true);
    });

    it('goes to the profile that EKS is changing', async () => {
      const aws = awsWith(aSimulatedRole());
      const pass = passStateFor(aws);
      aws.profiles.set('theirs', aSimulatedProfile({ name: 'theirs', tags: {}, status: 'DELETING' }));
      expect(await run(pass)).to.deep.equal({
        end: 'stopped: WaitingForSibling',
        did: ['createProfile siblingBusy'],
      });
      expect(testServices.clusterQueue.requestTurn(siblingEntry('api'))).to.deep.equal({
        kind: 'wait',
        ahead: 'theirs',
        doing: 'being deleted',
        isUnverified: true,
      });
    });

    const refusals: readonly (readonly [situation: string, code: string, statusCode: number, message: string])[] = [
      [
        'is being updated',
        'ResourceInUseException',
        409,
        'Cannot create Fargate Profile because cluster c currently has an update in progress',
      ],
      ['is not ACTIVE', 'InvalidRequestException', 400, "Cluster 'c' is not in ACTIVE status"],
    ];
    for (const [situation, code, statusCode, message] of refusals) {
      it(`is granted to no profile for 15 seconds when the EKS cluster ${situation}`, async () => {
        const pass = passStateFor(awsWith(aSimulatedRole()));
        pass.session.onCall = () => aFailure({ code, statusCode, message });
        expect((await run(pass)).end).to.equal('stopped: ClusterUpdating');
        expect(testServices.clusterQueue.requestTurn(siblingEntry('api'))).to.deep.equal({
          kind: 'closed',
          until: 15_000,
          because: `${message} (EKS CreateFargateProfile: ${code})`,
        });
        await testServices.clock.advance(15_000);
        expect(isFree()).to.equal(true);
      });

      it(`is withheld for longer the longer the EKS cluster ${situation}, for five minutes at most`, async () => {
        const closedAfter = async (waited: number): Promise<number> => {
          const pass = passStateFor(awsWith(aSimulatedRole()));
          pass.retry.update(() =>
            withWait({}, newReason('ClusterUpdating', { cluster: 'c', said: 'no', remaining: 0 }), 0),
          );
          pass.session.onCall = () => aFailure({ code, statusCode, message });
          await testServices.clock.advance(waited - testServices.clock.monotonic());
          await run(pass);
          const answer = testServices.clusterQueue.requestTurn(siblingEntry('api'));
          return answer.kind === 'closed' ? answer.until - testServices.clock.monotonic() : 0;
        };
        expect(await closedAfter(15 * 60_000), 'a quarter of an hour').to.equal(15_000);
        expect(await closedAfter(60 * 60_000), 'an hour').to.equal(60_000);
        expect(await closedAfter(48 * 60 * 60_000), 'two days').to.equal(5 * 60_000);
      });
    }

    it('is not requested for a mutation that EKS does not queue', async () => {
      testServices.clusterQueue.markInFlight(QUEUE, 'team-a_api', 'being created', false);
      const pass = passStateFor(awsWith(aSimulatedProfile(), aSimulatedRole({ attached: [] })));
      expect(await run(pass)).to.deep.equal({ end: 'settled', did: ['attachPolicy done'] });
    });
  });

  describe('a contradiction in AWS', () => {
    const contradictions: readonly (readonly [string, () => PassState])[] = [
      [
        'a profile that exists but cannot be read',
        () => {
          const aws = awsWith(aSimulatedRole());
          aws.profiles.set(PROFILE, aSimulatedProfile({ hidden: 1 }));
          return passStateFor(aws);
        },
      ],
      [
        'a role that exists but was not found',
        () => {
          const aws = awsWith();
          const pass = passStateFor(aws);
          aws.roles.set(ROLE.toLowerCase(), aSimulatedRole());
          return pass;
        },
      ],
      [
        'a role that was found but cannot be changed',
        () => {
          const aws = awsWith(aSimulatedRole({ attached: [] }));
          const pass = passStateFor(aws);
          aws.roles.clear();
          return pass;
        },
      ],
    ];
    for (const [situation, newPass] of contradictions) {
      it(`is waited for during two minutes, then reported: ${situation}`, async () => {
        expect((await run(newPass())).end).to.equal('stopped: Propagating');
        const late = newPass();
        late.retry.update(() => withWait({}, newReason('Propagating', { detail: '' }), 0));
        await testServices.clock.advance(120_000);
        expect((await run(late)).end).to.equal('stopped: AWSError');
      });
    }

    it('is waited for: a role whose detached policies still prevent its deletion', async () => {
      const pass = passStateFor(awsWith(aSimulatedRole()), aDeletedObject());
      const lagging = aFailure({ code: 'DeleteConflict', statusCode: 409, message: 'must detach all policies first.' });
      pass.session.onCall = (operation) => (operation === 'DeleteRole' ? lagging : undefined);
      expect((await run(pass)).end).to.equal('stopped: Propagating');
    });
  });

  describe('a trust policy that EKS rejects', () => {
    const misconfigured = aFailure({
      code: 'InvalidParameterException',
      statusCode: 400,
      message:
        'Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal',
    });
    const newPass = (generation = 1): PassState => {
      const pass = passStateFor(awsWith(aSimulatedRole()), anObject({ metadata: { generation } }));
      pass.session.onCall = () => misconfigured;
      return pass;
    };

    it('counts as propagating for two minutes, then as invalid', async () => {
      const first = newPass();
      expect((await run(first)).end).to.equal('stopped: Propagating');
      await testServices.clock.advance(119_999);
      const second = { ...newPass(), retry: first.retry };
      expect((await run(second)).end).to.equal('stopped: Propagating');
      await testServices.clock.advance(1);
      const third = { ...newPass(), retry: second.retry };
      expect((await run(third)).end).to.equal('stopped: RoleTrustInvalid');
      const mended = { ...newPass(2), retry: third.retry };
      expect((await run(mended)).end, 'with another spec').to.equal('stopped: Propagating');
    });
  });

  describe('a failed call', () => {
    const failing = (failure: Partial<AwsFailure>): PassState => {
      const pass = passStateFor(awsWith(aSimulatedRole()));
      pass.session.onCall = () => aFailure(failure);
      return pass;
    };

    it('ends the pass with the reason of its failure', async () => {
      expect(await run(failing({ code: 'AccessDeniedException', statusCode: 403 }))).to.deep.equal({
        end: 'stopped: AccessDenied',
        did: ['createProfile failed'],
      });
    });

    it('is not sent again before its backoff is over', async () => {
      const pass = failing({ code: 'AccessDeniedException', statusCode: 403 });
      await run(pass);
      expect(await run(pass)).to.deep.equal({ end: 'stopped: AccessDenied', did: [] });
      await testServices.clock.advance(60_000);
      expect((await run(pass)).did).to.deep.equal(['createProfile failed']);
    });

    it('drops the pass without a reason when the call was never sent', async () => {
      expect((await run(failing({ code: 'NotDispatched', message: 'the lease has run out' }))).end).to.equal(
        'quit: the lease has run out',
      );
    });
  });

  describe('a create of the profile', () => {
    const REQUESTED_AT = '2026-11-21T03:25:00Z';
    const recording: ServiceOverrides = {
      profileWriter: writerThat(async (object, status) =>
        storedObject(object, { ...status, createRequestedAt: REQUESTED_AT }),
      ),
    };
    const isUnconfirmed = ({ retry }: PassState): boolean =>
      isCreateUnconfirmed(withUnconfirmedCreate(retry.state, { createRequestedAt: REQUESTED_AT }, 0), 0);

    it('is confirmed when EKS accepts it', async () => {
      const pass = passStateFor(awsWith(aSimulatedRole()));
      await run(pass, recording);
      expect(isUnconfirmed(pass)).to.equal(false);
    });

    it('is unconfirmed when its answer never comes', async () => {
      const pass = passStateFor(awsWith(aSimulatedRole()));
      pass.retry.update(() => ({ confirmedCreate: REQUESTED_AT }));
      pass.session.onCall = (operation) =>
        operation === 'CreateFargateProfile' ? aFailure({ code: 'NoAnswer' }) : undefined;
      await run(pass, recording);
      expect(isUnconfirmed(pass)).to.equal(true);
    });

    for (const [situation, failure] of [
      ['the call is never sent', { code: 'NotDispatched' }],
      ['EKS refuses it', { code: 'InvalidParameterException', statusCode: 400 }],
    ] as const)
      it(`is confirmed when ${situation}, unless an earlier create is unconfirmed`, async () => {
        for (const isEarlierUnconfirmed of [false, true]) {
          const object = anObject({ status: { profileName: PROFILE } });
          const pass = passStateFor(awsWith(aSimulatedRole()), object, {
            isCreateUnconfirmed: isEarlierUnconfirmed,
          });
          pass.session.onCall = (operation) => (operation === 'CreateFargateProfile' ? aFailure(failure) : undefined);
          expect((await run(pass, recording)).did).to.deep.equal(['createProfile failed']);
          expect(isUnconfirmed(pass)).to.equal(isEarlierUnconfirmed);
        }
      });
  });

  describe('the access entry of the role', () => {
    const OUTDATED = { type: 'FARGATE_LINUX', roleId: 'AROAFORMER', createdAt: -2 };
    const DENIED = { code: 'AccessDeniedException', statusCode: 403 };
    const entryOf = (aws: SimulatedAws) => aws.accessEntries.get(ROLE_ARN);
    const withEntry = (aws: SimulatedAws): SimulatedAws => {
      aws.accessEntries.set(ROLE_ARN, OUTDATED);
      return aws;
    };
    const denying = (aws: SimulatedAws, ...operations: readonly string[]): PassState => {
      const pass = passStateFor(aws);
      pass.session.onCall = (operation) => (operations.includes(operation) ? aFailure(DENIED) : undefined);
      return pass;
    };

    it('is deleted before the profile is created, after an annotation has recorded that', async () => {
      const aws = withEntry(awsWith(aSimulatedRole()));
      const written: string[] = [];
      const profileWriter = writerThat(async (object, status) => {
        written.push(entryOf(aws) === OUTDATED ? 'before' : 'after');
        return storedObject(object, status);
      });
      expect(await run(passStateFor(aws), { profileWriter })).to.deep.equal({
        end: 'stopped: Creating',
        did: ['deleteAccessEntry done', 'createProfile done'],
      });
      expect(written.slice(0, 2)).to.deep.equal(['before', 'before']);
      expect(entryOf(aws)?.roleId).to.equal('AROAEXAMPLE');
    });

    it('is read once while the object waits for its turn', async () => {
      const aws = awsWith(aSimulatedRole(), aSimulatedProfile({ name: 'other', status: 'CREATING', tags: {} }));
      const pass = passStateFor(aws);
      for (let round = 0; round < 3; round++) expect((await run(pass)).end).to.equal('stopped: WaitingForSibling');
      pass.observed = { ...pass.observed, accessEntries: [] };
      await run(pass);
      expect(pass.session.calls.filter((call) => call.startsWith('DescribeAccessEntry'))).to.have.length(1);
    });

    it('is kept before the creation while another profile uses the role', async () => {
      const aws = withEntry(awsWith(aSimulatedRole(), aSimulatedProfile({ name: 'other', tags: {} })));
      expect((await run(passStateFor(aws))).did).to.deep.equal(['createProfile done']);
      expect(entryOf(aws)).to.equal(OUTDATED);
    });

    it('is made anew under a live profile', async () => {
      const aws = withEntry(awsWith(aSimulatedRole(), aSimulatedProfile()));
      expect(await run(passStateFor(aws))).to.deep.equal({
        end: 'settled',
        did: ['deleteAccessEntry done', 'createAccessEntry done'],
      });
      expect(entryOf(aws)?.roleId).to.equal('AROAEXAMPLE');
    });

    it('is deleted before the role is deleted', async () => {
      const aws = withEntry(awsWith(aSimulatedRole()));
      expect(await run(passStateFor(aws, aDeletedObject()))).to.deep.equal({
        end: 'settled',
        did: ['detachPolicy done', 'deleteAccessEntry done', 'deleteRole done'],
      });
      expect(entryOf(aws)).to.equal(undefined);
    });

    it('blocks neither a creation nor a deletion when AWS denies its deletion', async () => {
      const creation = denying(withEntry(awsWith(aSimulatedRole())), 'DeleteAccessEntry');
      expect((await run(creation)).did).to.deep.equal(['deleteAccessEntry failed', 'createProfile done']);
      const deletion = passStateFor(withEntry(awsWith(aSimulatedRole())), aDeletedObject());
      deletion.session.onCall = (operation) => (operation === 'DeleteAccessEntry' ? aFailure(DENIED) : undefined);
      expect(await run(deletion)).to.deep.equal({
        end: 'settled',
        did: ['detachPolicy done', 'deleteAccessEntry failed', 'deleteRole done'],
      });
    });

    it('stops an object whose entry is outdated and cannot be made anew', async () => {
      const aws = withEntry(awsWith(aSimulatedRole(), aSimulatedProfile()));
      expect((await run(denying(aws, 'CreateAccessEntry'))).end).to.equal('stopped: RoleRecreated');
      expect(entryOf(aws)).to.equal(undefined);
    });

    it('is waited for when AWS does not answer, with a reason that ends Ready if the role is known to be recreated', async () => {
      for (const [id, end] of [
        ['AROAEXAMPLE', 'stopped: AWSUnavailable'],
        ['AROAFORMER', 'stopped: RestoringRole'],
      ] as const) {
        const object = anObject({ status: { role: { name: ROLE, id, managed: true } } });
        const pass = passStateFor(withEntry(awsWith(aSimulatedRole(), aSimulatedProfile())), object);
        pass.session.onCall = (operation) => (operation === 'DescribeAccessEntry' ? aFailure() : undefined);
        expect(await run(pass)).to.deep.equal({ end, did: [] });
      }
    });
  });

  it('counts the retries of a failed profile', async () => {
    const pass = passStateFor(awsWith(aSimulatedRole(), aSimulatedProfile({ status: 'CREATE_FAILED' })));
    expect((await run(pass)).end).to.equal('stopped: CreateFailed');
    await testServices.clock.advance(10_000);
    expect(await run(pass)).to.deep.equal({ end: 'stopped: DeletingProfile', did: ['deleteProfile done'] });
    expect(pass.retry.state.recovery).to.deep.equal({ generation: 1, attempts: 1 });
  });

  it('throws when the decision stays the same for 100 steps', async () => {
    const pass = passStateFor(awsWith(aSimulatedRole({ attached: [] }), aSimulatedProfile()));
    const forgetful = Object.defineProperty({ ...pass }, 'observed', { get: () => pass.observed, set: () => {} });
    const error = await run(forgetful).catch((reason: unknown) => reason);
    expect(error)
      .to.be.an('error')
      .with.property('message')
      .that.matches(/^no end after 100 steps; the last was .*attachPolicy/);
  });
});
