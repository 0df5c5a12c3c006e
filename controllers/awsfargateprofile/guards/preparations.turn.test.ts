import { expect } from 'chai';
import { ProfileName } from '../../../api/names.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Obstacle } from './guards.ts';
import type { PassState } from './pass-state.ts';
import { takeTurn } from './preparations.ts';
import { messageOf, newReason } from '../reasons/reasons.ts';
import { EKS_CLUSTER, PROFILE, aDeletedObject } from '../testing/builders.ts';
import type { TestServices } from '../testing/pass-state.ts';
import {
  QUEUE,
  aSimulatedProfile,
  passStateFor,
  awsAsWanted,
  newServices,
  siblingEntry,
} from '../testing/pass-state.ts';
import { CREATE_PROFILE, DELETE_PROFILE, CONSTRUCTIVE, DESTRUCTIVE, describeObstacle } from '../testing/mutations.ts';

describe('takeTurn', () => {
  let testServices: TestServices;
  beforeEach(() => (testServices = newServices()));
  const obstacleTo = (mutation: Mutation, pass: PassState): Promise<Obstacle | undefined> =>
    takeTurn(testServices)(mutation, pass);

  it('grants the turn in a free queue', async () => {
    expect(describeObstacle(await obstacleTo(CREATE_PROFILE, passStateFor(awsAsWanted())))).to.equal('go');
    expect(testServices.clusterQueue.requestTurn(siblingEntry('api'))).to.include({ kind: 'wait', ahead: PROFILE });
  });

  it('holds back only creates and deletions of profiles while EKS changes another profile', async () => {
    testServices.clusterQueue.markInFlight(QUEUE, 'team-a_api', 'being created', false);
    for (const mutation of [...CONSTRUCTIVE, ...DESTRUCTIVE]) {
      const isProfile = mutation.kind === 'createProfile' || mutation.kind === 'deleteProfile';
      expect(describeObstacle(await obstacleTo(mutation, passStateFor(awsAsWanted()))), mutation.kind).to.equal(
        isProfile ? 'stop: WaitingForSibling' : 'go',
      );
    }
  });

  it('reports the profile ahead and what EKS does with that profile', async () => {
    testServices.clusterQueue.markInFlight(QUEUE, 'team-a_api', 'being created', false);
    const verdict = await obstacleTo(CREATE_PROFILE, passStateFor(awsAsWanted()));
    expect(verdict?.kind === 'stop' && messageOf(verdict.reason)).to.equal(
      'EKS changes only one Fargate profile of a cluster at a time, and Fargate profile "team-a_api" is being created. The controller waits, and then continues with the profile of this object on its own.',
    );
  });

  it('reports how long the EKS cluster accepts no change', async () => {
    testServices.clusterQueue.close(QUEUE, 15_000, 'an update in progress');
    await testServices.clock.advance(4_000);
    const verdict = await obstacleTo(CREATE_PROFILE, passStateFor(awsAsWanted()));
    expect(verdict).to.deep.equal({
      kind: 'stop',
      reason: newReason('ClusterUpdating', {
        cluster: EKS_CLUSTER,
        said: 'an update in progress',
        remaining: 11_000,
      }),
    });
  });

  describe('behind a profile that no pass of this manager observes', () => {
    const passBehind = (status: string | undefined) => {
      const aws = awsAsWanted();
      if (status !== undefined) aws.profiles.set('theirs', aSimulatedProfile({ name: 'theirs', tags: {}, status }));
      testServices.clusterQueue.markInFlight(QUEUE, 'theirs', 'being created', true);
      return passStateFor(aws);
    };

    for (const [situation, status, verdict] of [
      ['is still being created', 'CREATING', 'stop: WaitingForSibling'],
      ['is being deleted by now', 'DELETING', 'stop: WaitingForSibling'],
      ['is ACTIVE by now', 'ACTIVE', 'go'],
      ['has failed by now', 'CREATE_FAILED', 'go'],
      ['is gone by now', undefined, 'go'],
    ] as const) {
      it(`returns "${verdict}" when EKS answers that the profile ahead ${situation}`, async () => {
        const pass = passBehind(status);
        expect(describeObstacle(await obstacleTo(CREATE_PROFILE, pass))).to.equal(verdict);
        expect(pass.session.calls).to.deep.equal(['DescribeFargateProfile theirs']);
      });
    }

    it('reports what EKS does with that profile now', async () => {
      const verdict = await obstacleTo(CREATE_PROFILE, passBehind('DELETING'));
      expect(verdict?.kind === 'stop' && messageOf(verdict.reason)).to.include('"theirs" is being deleted.');
    });

    it('waits when EKS does not answer', async () => {
      const pass = passBehind('ACTIVE');
      pass.session.onCall = () => ({ service: 'eks', operation: 'x', code: 'NoAnswer', message: 'no' });
      expect(describeObstacle(await obstacleTo(CREATE_PROFILE, pass))).to.equal('stop: WaitingForSibling');
    });
  });

  describe('beside siblings that no pass has observed yet', () => {
    const [moved, other] = [ProfileName.of('team-a_moved'), ProfileName.of('team-a_other')];
    const passBeside = (status: string) => {
      const aws = awsAsWanted();
      aws.profiles.set(moved, aSimulatedProfile({ name: moved, status }));
      testServices = newServices({ unobservedProfiles: () => [moved, other] });
      return passStateFor(aws);
    };

    for (const [status, verdict] of [
      ['CREATING', 'stop: WaitingForSibling'],
      ['DELETING', 'stop: WaitingForSibling'],
      ['ACTIVE', 'go'],
    ] as const)
      it(`asks EKS once about each profile, and returns "${verdict}" when one is ${status}`, async () => {
        const pass = passBeside(status);
        expect(describeObstacle(await obstacleTo(DELETE_PROFILE, pass))).to.equal(verdict);
        expect(pass.session.calls).to.deep.equal([
          `DescribeFargateProfile ${moved}`,
          `DescribeFargateProfile ${other}`,
        ]);
      });

    it('asks EKS nothing before a mutation that EKS does not queue', async () => {
      const pass = passBeside('DELETING');
      for (const mutation of [...CONSTRUCTIVE, ...DESTRUCTIVE])
        if (mutation.kind !== 'createProfile' && mutation.kind !== 'deleteProfile') await obstacleTo(mutation, pass);
      expect(pass.session.calls).to.deep.equal([]);
    });

    it('goes ahead when EKS does not answer, because EKS refuses a mutation that comes too early', async () => {
      const pass = passBeside('DELETING');
      pass.session.onCall = () => ({ service: 'eks', operation: 'x', code: 'NoAnswer', message: 'no' });
      expect(describeObstacle(await obstacleTo(DELETE_PROFILE, pass))).to.equal('go');
    });
  });

  it('does not ask EKS about the profile of a sibling, because the pass of the sibling does', async () => {
    testServices.clusterQueue.markInFlight(QUEUE, 'team-a_api', 'being created', false);
    const pass = passStateFor(awsAsWanted());
    await obstacleTo(CREATE_PROFILE, pass);
    expect(pass.session.calls).to.deep.equal([]);
  });

  it('puts a deletion before an older create', async () => {
    testServices.clusterQueue.markInFlight(QUEUE, 'team-a_api', 'being created', false);
    testServices.clusterQueue.requestTurn(siblingEntry('old'));
    await obstacleTo(DELETE_PROFILE, passStateFor(awsAsWanted(), aDeletedObject()));
    testServices.clusterQueue.markSettled(QUEUE, 'team-a_api');
    expect(testServices.woken).to.deep.equal(['team-a/web']);
  });
});
