import { expect } from 'chai';
import { ProfileName } from '../../api/names.ts';
import type { Mutation } from './model.ts';
import type { Flight, Verdict } from './preflight.ts';
import { turn } from './preflight.ts';
import { messageOf, why } from './reasons.ts';
import { EKS_CLUSTER, PROFILE, aDeletedObject } from './testing/builders.ts';
import type { TestServices } from './testing/flight.ts';
import { LANE, aSimulatedProfile, flightIn, full, services, siblingTicket } from './testing/flight.ts';
import { CREATE_PROFILE, DELETE_PROFILE, CONSTRUCTIVE, DESTRUCTIVE } from './testing/mutations.ts';
import { verdictWord } from './testing/words.ts';

describe('the guard turn', () => {
  let asking: TestServices;
  beforeEach(() => (asking = services()));
  const verdictOn = (mutation: Mutation, flight: Flight): Promise<Verdict> => turn(asking)(mutation, flight);

  it('gives a free lane', async () => {
    expect(verdictWord(await verdictOn(CREATE_PROFILE, flightIn(full())))).to.equal('go');
    expect(asking.turns.ask(siblingTicket('api'))).to.include({ kind: 'wait', ahead: PROFILE });
  });

  it('holds up only what EKS holds up', async () => {
    asking.turns.busy(LANE, 'team-a_api', 'being created', false);
    for (const mutation of [...CONSTRUCTIVE, ...DESTRUCTIVE]) {
      const isProfile = mutation.kind === 'createProfile' || mutation.kind === 'deleteProfile';
      expect(verdictWord(await verdictOn(mutation, flightIn(full()))), mutation.kind).to.equal(
        isProfile ? 'stop: WaitingForSibling' : 'go',
      );
    }
  });

  it('says who is ahead and what it does', async () => {
    asking.turns.busy(LANE, 'team-a_api', 'being created', false);
    const verdict = await verdictOn(CREATE_PROFILE, flightIn(full()));
    expect(verdict.kind === 'stop' && messageOf(verdict.why)).to.equal(
      'EKS changes one Fargate profile of a cluster at a time; ahead of this one: "team-a_api" (being created)',
    );
  });

  it('says how long the cluster takes no change', async () => {
    asking.turns.close(LANE, 15_000);
    await asking.clock.advance(4_000);
    const verdict = await verdictOn(CREATE_PROFILE, flightIn(full()));
    expect(verdict).to.deep.equal({
      kind: 'stop',
      why: why('ClusterUpdating', { cluster: EKS_CLUSTER, remaining: 11_000 }),
    });
  });

  describe('behind a profile that nobody here looks after', () => {
    const behind = (status: string | undefined) => {
      const aws = full();
      if (status !== undefined) aws.profiles.set('theirs', aSimulatedProfile({ name: 'theirs', tags: {}, status }));
      asking.turns.busy(LANE, 'theirs', 'being created', true);
      return flightIn(aws);
    };

    for (const [situation, status, verdict] of [
      ['is still being created', 'CREATING', 'stop: WaitingForSibling'],
      ['is being deleted by now', 'DELETING', 'stop: WaitingForSibling'],
      ['is ACTIVE by now', 'ACTIVE', 'go'],
      ['has failed by now', 'CREATE_FAILED', 'go'],
      ['is gone by now', undefined, 'go'],
    ] as const) {
      it(`asks EKS, and finds that it ${situation}: ${verdict}`, async () => {
        const flight = behind(status);
        expect(verdictWord(await verdictOn(CREATE_PROFILE, flight))).to.equal(verdict);
        expect(flight.session.calls).to.deep.equal(['DescribeFargateProfile theirs']);
      });
    }

    it('says what it does now', async () => {
      const verdict = await verdictOn(CREATE_PROFILE, behind('DELETING'));
      expect(verdict.kind === 'stop' && messageOf(verdict.why)).to.include('"theirs" (being deleted)');
    });

    it('waits where EKS does not answer', async () => {
      const flight = behind('ACTIVE');
      flight.session.onCall = () => ({ service: 'eks', operation: 'x', code: 'NoAnswer', message: 'no' });
      expect(verdictWord(await verdictOn(CREATE_PROFILE, flight))).to.equal('stop: WaitingForSibling');
    });
  });

  describe('beside profiles at which nobody here has looked yet', () => {
    const [moved, other] = [ProfileName.of('team-a_moved'), ProfileName.of('team-a_other')];
    const beside = (status: string) => {
      const aws = full();
      aws.profiles.set(moved, aSimulatedProfile({ name: moved, status }));
      asking = services({ unseen: () => [moved, other] });
      return flightIn(aws);
    };

    for (const [status, verdict] of [
      ['CREATING', 'stop: WaitingForSibling'],
      ['DELETING', 'stop: WaitingForSibling'],
      ['ACTIVE', 'go'],
    ] as const)
      it(`asks EKS about each, once, and finds that one is ${status}: ${verdict}`, async () => {
        const flight = beside(status);
        expect(verdictWord(await verdictOn(DELETE_PROFILE, flight))).to.equal(verdict);
        expect(flight.session.calls).to.deep.equal([
          `DescribeFargateProfile ${moved}`,
          `DescribeFargateProfile ${other}`,
        ]);
      });

    it('asks nothing for what EKS does not hold up', async () => {
      const flight = beside('DELETING');
      for (const mutation of [...CONSTRUCTIVE, ...DESTRUCTIVE])
        if (mutation.kind !== 'createProfile' && mutation.kind !== 'deleteProfile') await verdictOn(mutation, flight);
      expect(flight.session.calls).to.deep.equal([]);
    });

    it('goes where EKS does not say: it refuses what comes too early', async () => {
      const flight = beside('DELETING');
      flight.session.onCall = () => ({ service: 'eks', operation: 'x', code: 'NoAnswer', message: 'no' });
      expect(verdictWord(await verdictOn(DELETE_PROFILE, flight))).to.equal('go');
    });
  });

  it('does not ask EKS about one of ours: its own pass does', async () => {
    asking.turns.busy(LANE, 'team-a_api', 'being created', false);
    const flight = flightIn(full());
    await verdictOn(CREATE_PROFILE, flight);
    expect(flight.session.calls).to.deep.equal([]);
  });

  it('lets a deletion go before what waits for longer', async () => {
    asking.turns.busy(LANE, 'team-a_api', 'being created', false);
    asking.turns.ask(siblingTicket('old'));
    await verdictOn(DELETE_PROFILE, flightIn(full(), aDeletedObject()));
    asking.turns.settled(LANE, 'team-a_api');
    expect(asking.woken).to.deep.equal(['team-a/web']);
  });
});
