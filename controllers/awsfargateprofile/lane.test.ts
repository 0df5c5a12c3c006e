import { expect } from 'chai';
import { ProfileName } from '../../api/names.ts';
import type { AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import { PROVISIONED_IN_ANNOTATION } from '../../api/v1beta2/index.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { Store } from '../../pkg/kube/store.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { BY_CLUSTER, clusterOf } from '../caches.ts';
import { doingOf, laneOf, tellAnswer, tellRecorded, tellSeen, ticketOf, unseenIn } from './lane.ts';
import type { Mutation } from './model.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  PROFILE,
  aDeletedObject,
  aProfile,
  anObject,
  desiredOf,
  desiredOfDeletion,
  observed,
} from './testing/builders.ts';
import { LANE, services, siblingTicket } from './testing/flight.ts';
import { NOWHERE } from './whereabouts.ts';

describe('the lane', () => {
  it('is that of an account, a region and an EKS cluster', () => {
    expect(laneOf(ACCOUNT, 'eu-west-1', EKS_CLUSTER)).to.equal('111122223333/eu-west-1/team-a_prod-control-plane');
  });

  it('is busy with what EKS creates or deletes', () => {
    expect(
      ['CREATING', 'DELETING', 'ACTIVE', 'CREATE_FAILED', 'DELETE_FAILED', 'PAUSED', undefined].map(doingOf),
    ).to.deep.equal(['being created', 'being deleted', undefined, undefined, undefined, undefined, undefined]);
  });
});

describe('ticketOf', () => {
  it('says who asks, for which profile, and since when', () => {
    const object = anObject();
    expect(ticketOf(object, LANE, desiredOf(object))).to.deep.equal({
      lane: LANE,
      id: 'team-a/web',
      name: PROFILE,
      urgent: false,
      createdAt: '2026-11-20T10:00:00Z',
    });
  });

  it('lets deletions go first, under the name that was recorded', () => {
    const object = aDeletedObject({ status: { profileName: ProfileName.of('former') } });
    expect(ticketOf(object, LANE, desiredOfDeletion(object))).to.include({ urgent: true, name: 'former' });
  });
});

describe('tellSeen', () => {
  it('tells the lane what EKS is busy with, and what it is not', () => {
    const { turns } = services();
    tellSeen(turns, LANE, observed({ profile: aProfile({ status: 'CREATING' }) }));
    expect(turns.ask(siblingTicket('api'))).to.include({ kind: 'wait', ahead: PROFILE, foreign: false });
    tellSeen(turns, LANE, observed({ profile: aProfile() }));
    expect(turns.ask(siblingTicket('api'))).to.include({ kind: 'yours' });
  });

  it('takes a profile that is not there for out of the lane', () => {
    const { turns } = services();
    turns.busy(LANE, PROFILE, 'being deleted', false);
    tellSeen(turns, LANE, observed());
    expect(turns.ask(siblingTicket('api'))).to.include({ kind: 'yours' });
  });
});

describe('tellAnswer', () => {
  const mutation: Mutation = { kind: 'deleteProfile', name: ProfileName.of('former'), because: 'unwanted' };
  const desired = desiredOf();

  it('puts that profile into the lane that EKS has begun to change, not the one that comes after it', () => {
    const { turns } = services();
    const ticket = ticketOf(anObject(), LANE, desired);
    turns.ask(ticket);
    tellAnswer(turns, ticket, mutation, { kind: 'done' }, 0);
    expect(turns.ask(siblingTicket('api'))).to.include({ kind: 'wait', ahead: 'former', doing: 'being deleted' });
  });
});

const storeOf = (...objects: readonly KubeObject[]): Store => {
  const profiles = new Store({ name: 'profiles', logger: new MemoryLogger(), indexes: { [BY_CLUSTER]: clusterOf } });
  profiles.replaceAll(objects, '100');
  return profiles;
};

describe('tellRecorded', () => {
  const WHERE: AWSFargateProfileStatus = { account: ACCOUNT, region: 'eu-west-1', eksClusterName: EKS_CLUSTER };
  const BUSY: AWSFargateProfileStatus = {
    ...WHERE,
    profileName: ProfileName.of('team-a_api'),
    profileStatus: 'CREATING',
  };
  const sibling = (status: AWSFargateProfileStatus): KubeObject => ({
    ...anObject({ metadata: { name: 'api', uid: 'uid-of-api' }, status }),
  });

  const aheadAfter = (...siblings: readonly KubeObject[]) => {
    const { turns } = services();
    tellRecorded(turns, LANE, anObject(), storeOf(...siblings));
    const turn = turns.ask(siblingTicket('asking'));
    return turn.kind === 'wait' ? `${turn.ahead}, ${turn.doing}${turn.foreign ? ', to be looked at' : ''}` : turn.kind;
  };

  it('puts ahead, after a start, what was in transit when it was last written down, for whoever waits to look at', () => {
    expect(aheadAfter(sibling(BUSY))).to.equal('team-a_api, being created, to be looked at');
  });

  const rows: readonly (readonly [string, AWSFargateProfileStatus])[] = [
    ['was at rest', { ...BUSY, profileStatus: 'ACTIVE' }],
    ['is in another region', { ...BUSY, region: 'eu-north-1' }],
    ['has no profile yet', WHERE],
  ];
  for (const [situation, status] of rows) {
    it(`takes no notice of a sibling that ${situation}`, () => expect(aheadAfter(sibling(status))).to.equal('yours'));
  }

  it('takes no notice of the object itself, nor of what cannot be read', () => {
    const itself: KubeObject = { ...anObject({ status: BUSY }) };
    const odd: KubeObject = { ...sibling(BUSY), spec: { clusterName: 'prod', selectors: 7 } };
    expect(aheadAfter(itself)).to.equal('yours');
    expect(aheadAfter(odd)).to.equal('yours');
  });

  it('says nothing once the lane is known', () => {
    const { turns } = services();
    turns.settled(LANE, 'anybody');
    turns.busy(LANE, 'somebody', 'being created', false);
    turns.settled(LANE, 'somebody');
    tellRecorded(turns, LANE, anObject(), storeOf(sibling(BUSY)));
    expect(turns.ask(siblingTicket('asking')).kind).to.equal('yours');
  });
});

describe('unseenIn', () => {
  const sibling = (provisionedIn: string | undefined, status: AWSFargateProfileStatus = {}, clusterName = 'prod') => {
    const annotations = provisionedIn === undefined ? {} : { [PROVISIONED_IN_ANNOTATION]: provisionedIn };
    const object = anObject({ metadata: { name: 'api', uid: 'uid-of-api', annotations }, status });
    return { ...object, spec: { ...object.spec, clusterName } };
  };
  const unseen = (object: KubeObject, isSeen = false) =>
    unseenIn(LANE, anObject(), storeOf(object), ({ metadata }) => isSeen && metadata.uid === 'uid-of-api');

  it('names what was begun in the lane, and of which a move has dropped the status', () => {
    expect(unseen(sibling(LANE))).to.deep.equal(['team-a_api']);
  });

  const rows: readonly (readonly [string, KubeObject])[] = [
    [
      'whose status says where it is',
      sibling(LANE, { account: ACCOUNT, region: 'eu-west-1', eksClusterName: EKS_CLUSTER }),
    ],
    ['of which nothing was begun', sibling(NOWHERE)],
    ['that does not say where it is', sibling(undefined)],
    ['that is in another lane', sibling(laneOf(ACCOUNT, 'eu-north-1', EKS_CLUSTER))],
    ['of another Cluster', sibling(LANE, {}, 'other')],
    ['that cannot be read', { ...sibling(LANE), spec: { clusterName: 'prod', selectors: 7 } }],
    ['that is the object itself', anObject({ metadata: { annotations: { [PROVISIONED_IN_ANNOTATION]: LANE } } })],
  ];
  for (const [which, object] of rows) it(`does not name one ${which}`, () => expect(unseen(object)).to.deep.equal([]));

  it('does not name one at which its own pass has looked: the lane knows of that', () => {
    expect(unseen(sibling(LANE), true)).to.deep.equal([]);
  });
});
