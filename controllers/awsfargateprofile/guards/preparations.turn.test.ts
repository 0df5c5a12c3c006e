import { expect } from 'chai';
import type { Mutation } from '../model/change.ts';
import { messageOf, newReason } from '../reasons/reasons.ts';
import { EKS_CLUSTER, anObject } from '../testing/builders.ts';
import { CONSTRUCTIVE, CREATE_PROFILE, DELETE_PROFILE, DESTRUCTIVE, describeObstacle } from '../testing/mutations.ts';
import {
  type TestServices,
  LANE,
  aSimulatedProfile,
  awsAsWanted,
  newServices,
  passStateFor,
} from '../testing/pass-state.ts';
import type { Obstacle, ReconcileState } from './guards.ts';
import { takeTurn } from './preparations.ts';

const SIBLING = anObject({ metadata: { name: 'api', uid: 'uid-of-api' } });

describe('takeTurn', () => {
  let services: TestServices;
  beforeEach(() => (services = newServices()));
  const obstacleTo = (mutation: Mutation, pass: ReconcileState): Promise<Obstacle | undefined> =>
    takeTurn(services)(mutation, pass);
  const messageIn = (obstacle: Obstacle | undefined) => obstacle?.kind === 'stop' && messageOf(obstacle.reason);

  it('holds back only creates and deletions of profiles, and asks EKS nothing while another pass watches the change', async () => {
    services.lanes.saw(LANE, 'team-a_api', 'being created', SIBLING);
    const pass = passStateFor(awsAsWanted());
    for (const mutation of [...CONSTRUCTIVE, ...DESTRUCTIVE]) {
      const isQueued = mutation.kind === 'createProfile' || mutation.kind === 'deleteProfile';
      const expected = isQueued ? 'stop: WaitingForSibling' : 'go';
      expect(describeObstacle(await obstacleTo(mutation, pass)), mutation.kind).to.equal(expected);
    }
    expect(pass.session.calls).to.deep.equal([]);
    expect(messageIn(await obstacleTo(CREATE_PROFILE, pass))).to.equal(
      'EKS changes only one Fargate profile of a cluster at a time, and Fargate profile "team-a_api" is being created. The controller waits, and then continues with this object.',
    );
  });

  for (const [mutation, doing] of [
    [CREATE_PROFILE, 'created first'],
    [DELETE_PROFILE, 'deleted first'],
  ] as const)
    it(`says that another profile is ${doing} from before its request, because a message stays for seconds`, async () => {
      expect(await obstacleTo(mutation, { ...passStateFor(awsAsWanted()), object: SIBLING })).to.equal(undefined);
      expect(messageIn(await obstacleTo(CREATE_PROFILE, passStateFor(awsAsWanted())))).to.include(
        `is ${doing}. The controller waits`,
      );
    });

  it('tells for how long the EKS cluster accepts no change, and what EKS has said', async () => {
    services.lanes.close(LANE, 15_000, 'an update in progress');
    const reason = newReason('ClusterUpdating', {
      cluster: EKS_CLUSTER,
      said: 'an update in progress',
      remaining: 15_000,
    });
    expect(await obstacleTo(CREATE_PROFILE, passStateFor(awsAsWanted()))).to.deep.equal({ kind: 'stop', reason });
  });

  it('records how long the object has waited, once it has its turn', async () => {
    const turns: string[] = [];
    services = newServices({ recordTurnWait: ({ metadata }) => void turns.push(metadata.name) });
    services.lanes.saw(LANE, 'team-a_api', 'being created', SIBLING);
    await obstacleTo(CREATE_PROFILE, passStateFor(awsAsWanted()));
    expect(turns).to.deep.equal([]);
    services.lanes.settle(LANE, 'team-a_api', SIBLING);
    await obstacleTo(CREATE_PROFILE, passStateFor(awsAsWanted()));
    expect(turns).to.deep.equal(['web']);
  });

  describe('behind a profile that no pass of this manager watches', () => {
    const passBehind = (status: string | undefined) => {
      const aws = awsAsWanted();
      if (status !== undefined) aws.profiles.set('theirs', aSimulatedProfile({ name: 'theirs', tags: {}, status }));
      services.lanes.saw(LANE, 'theirs', 'being created');
      return passStateFor(aws);
    };

    for (const [situation, status, expected] of [
      ['is still being created', 'CREATING', 'stop: WaitingForSibling'],
      ['is being deleted by now', 'DELETING', 'stop: WaitingForSibling'],
      ['is ACTIVE by now', 'ACTIVE', 'go'],
      ['has failed by now', 'CREATE_FAILED', 'go'],
      ['is gone by now', undefined, 'go'],
    ] as const)
      it(`asks EKS, and returns "${expected}" when the profile ${situation}`, async () => {
        const pass = passBehind(status);
        expect(describeObstacle(await obstacleTo(CREATE_PROFILE, pass))).to.equal(expected);
        expect(pass.session.calls).to.deep.equal(['DescribeFargateProfile theirs']);
      });

    it('tells what EKS does with that profile now', async () => {
      expect(messageIn(await obstacleTo(CREATE_PROFILE, passBehind('DELETING')))).to.include('is being deleted.');
    });

    it('waits when EKS does not answer', async () => {
      const pass = passBehind('ACTIVE');
      pass.session.onCall = () => ({ service: 'eks', operation: 'x', code: 'NoAnswer', message: 'no' });
      expect(describeObstacle(await obstacleTo(CREATE_PROFILE, pass))).to.equal('stop: WaitingForSibling');
    });
  });
});
