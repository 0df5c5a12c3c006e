import { expect } from 'chai';
import type { Mutation } from '../model/change.ts';
import { messageOf, newReason } from '../reasons/reasons.ts';
import { EKS_CLUSTER, anObject } from '../testing/builders.ts';
import { CONSTRUCTIVE, CREATE_PROFILE, DELETE_PROFILE, DESTRUCTIVE, describeObstacle } from '../testing/mutations.ts';
import {
  type TestServices,
  QUEUE,
  aSimulatedProfile,
  awsAsDesired,
  newServices,
  reconcileStateFor,
} from '../testing/reconcile-state.ts';
import type { Obstacle, ReconcileState } from './guards.ts';
import { takeTurn } from './preparations.ts';

const SIBLING = anObject({ metadata: { name: 'api', uid: 'uid-of-api' } });

describe('takeTurn', () => {
  let services: TestServices;
  beforeEach(() => (services = newServices()));
  const obstacleTo = (mutation: Mutation, reconcile: ReconcileState): Promise<Obstacle | undefined> =>
    takeTurn(services)(mutation, reconcile);
  const messageIn = (obstacle: Obstacle | undefined) => obstacle?.kind === 'stop' && messageOf(obstacle.reason);

  it('holds back only creates and deletions of profiles, and asks EKS nothing while another reconcile watches the change', async () => {
    services.clusterQueues.saw(QUEUE, 'team-a_api', 'being created', SIBLING);
    const reconcile = reconcileStateFor(awsAsDesired());
    for (const mutation of [...CONSTRUCTIVE, ...DESTRUCTIVE]) {
      const isQueued = mutation.kind === 'createProfile' || mutation.kind === 'deleteProfile';
      const expected = isQueued ? 'stop: WaitingForSibling' : 'go';
      expect(describeObstacle(await obstacleTo(mutation, reconcile)), mutation.kind).to.equal(expected);
    }
    expect(reconcile.session.calls).to.deep.equal([]);
  });

  for (const [mutation, doing] of [
    [CREATE_PROFILE, 'created first'],
    [DELETE_PROFILE, 'deleted first'],
  ] as const)
    it(`says that another profile is ${doing} from before its request, because a message stays for seconds`, async () => {
      expect(await obstacleTo(mutation, { ...reconcileStateFor(awsAsDesired()), object: SIBLING })).to.equal(undefined);
      expect(messageIn(await obstacleTo(CREATE_PROFILE, reconcileStateFor(awsAsDesired())))).to.include(
        `is ${doing}. The controller waits`,
      );
    });

  it('tells for how long the EKS cluster accepts no change, and what EKS has said', async () => {
    services.clusterQueues.close(QUEUE, 15_000, 'an update in progress');
    const reason = newReason('ClusterUpdating', {
      cluster: EKS_CLUSTER,
      said: 'an update in progress',
      remaining: 15_000,
    });
    expect(await obstacleTo(CREATE_PROFILE, reconcileStateFor(awsAsDesired()))).to.deep.equal({ kind: 'stop', reason });
  });

  it('records how long the object has waited, once it has its turn', async () => {
    const spans: number[] = [];
    services = newServices({ recordTurnSpan: (span) => void spans.push(span) });
    services.clusterQueues.saw(QUEUE, 'team-a_api', 'being created', SIBLING);
    await obstacleTo(CREATE_PROFILE, reconcileStateFor(awsAsDesired()));
    expect(spans).to.deep.equal([]);
    services.clusterQueues.sawNoChange(QUEUE, 'team-a_api', SIBLING);
    await obstacleTo(CREATE_PROFILE, reconcileStateFor(awsAsDesired()));
    expect(spans).to.deep.equal([0]);
  });

  describe('behind a profile that no reconcile of this manager watches', () => {
    const reconcileBehind = (status: string | undefined) => {
      const aws = awsAsDesired();
      if (status !== undefined) aws.profiles.set('theirs', aSimulatedProfile({ name: 'theirs', tags: {}, status }));
      services.clusterQueues.saw(QUEUE, 'theirs', 'being created');
      return reconcileStateFor(aws);
    };

    for (const [situation, status, expected] of [
      ['is still being created', 'CREATING', 'stop: WaitingForSibling'],
      ['is being deleted by now', 'DELETING', 'stop: WaitingForSibling'],
      ['is ACTIVE by now', 'ACTIVE', 'go'],
      ['has failed by now', 'CREATE_FAILED', 'go'],
      ['is gone by now', undefined, 'go'],
    ] as const)
      it(`asks EKS, and returns "${expected}" when the profile ${situation}`, async () => {
        const reconcile = reconcileBehind(status);
        expect(describeObstacle(await obstacleTo(CREATE_PROFILE, reconcile))).to.equal(expected);
        expect(reconcile.session.calls).to.deep.equal(['DescribeFargateProfile theirs']);
      });

    it('tells what EKS does with that profile now', async () => {
      expect(messageIn(await obstacleTo(CREATE_PROFILE, reconcileBehind('DELETING')))).to.include('is being deleted.');
    });

    it('waits when EKS does not answer', async () => {
      const reconcile = reconcileBehind('ACTIVE');
      reconcile.session.onCall = () => ({ service: 'eks', operation: 'x', code: 'NoAnswer', message: 'no' });
      expect(describeObstacle(await obstacleTo(CREATE_PROFILE, reconcile))).to.equal('stop: WaitingForSibling');
    });
  });
});
