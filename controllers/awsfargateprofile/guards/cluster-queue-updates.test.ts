import { expect } from 'chai';
import { ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { PROVISIONED_IN_ANNOTATION, decodeAWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { MemoryLogger } from '../../../pkg/env/testing/memory-logger.ts';
import { Store } from '../../../pkg/kube/cache/store.ts';
import { TypedStore } from '../../../pkg/kube/cache/typed-store.ts';
import type { KubeObject } from '../../../pkg/kube/types.ts';
import { PROFILE_INDEXES } from '../../shared/caches.ts';
import { listSiblings } from '../../shared/siblings.ts';
import {
  queueNameOf,
  updateQueueFromOutcome,
  updateQueueFromStatus,
  updateQueueFromObservation,
  queueEntryFor,
  unobservedProfiles,
} from './cluster-queue-updates.ts';
import type { Mutation } from '../model/mutation.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  PROFILE,
  RECORDED,
  aDeletedObject,
  aProfile,
  anObject,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import { QUEUE, newServices, siblingEntry } from '../testing/pass-state.ts';
import { NOWHERE } from '../model/location.ts';
import { describeTransit } from '../model/eks-change-in-progress.ts';

describe('queueNameOf', () => {
  it('names the queue after account, region and EKS cluster', () => {
    expect(queueNameOf(ACCOUNT, 'eu-west-1', EKS_CLUSTER)).to.equal('111122223333/eu-west-1/team-a_prod-control-plane');
  });
});

describe('describeTransit', () => {
  it('describes only the states in which EKS creates or deletes a profile', () => {
    expect(
      ['CREATING', 'DELETING', 'ACTIVE', 'CREATE_FAILED', 'DELETE_FAILED', 'PAUSED', undefined].map(describeTransit),
    ).to.deep.equal(['being created', 'being deleted', undefined, undefined, undefined, undefined, undefined]);
  });
});

describe('queueEntryFor', () => {
  it('names the object, its profile and its creation time', () => {
    const object = anObject();
    expect(queueEntryFor(object, QUEUE, desiredOf(object))).to.deep.equal({
      queue: QUEUE,
      id: 'team-a/web',
      name: PROFILE,
      urgent: false,
      createdAt: '2026-11-20T10:00:00Z',
    });
  });

  it('makes a deletion urgent, under the recorded profile name', () => {
    const object = aDeletedObject({ status: { profileName: ProfileName.of('former') } });
    expect(queueEntryFor(object, QUEUE, desiredOfDeletion(object))).to.include({ urgent: true, name: 'former' });
  });
});

describe('updateQueueFromObservation', () => {
  it('marks the profile as busy while EKS changes it, and as settled afterwards', () => {
    const { clusterQueue } = newServices();
    updateQueueFromObservation(
      clusterQueue,
      { queue: QUEUE, id: 'team-a/web' },
      observed({ profile: aProfile({ status: 'CREATING' }) }),
    );
    expect(clusterQueue.requestTurn(siblingEntry('api'))).to.include({
      kind: 'wait',
      ahead: PROFILE,
      isUnverified: false,
    });
    updateQueueFromObservation(clusterQueue, { queue: QUEUE, id: 'team-a/web' }, observed({ profile: aProfile() }));
    expect(clusterQueue.requestTurn(siblingEntry('api'))).to.include({ kind: 'granted' });
  });

  it('marks a profile that does not exist as settled', () => {
    const { clusterQueue } = newServices();
    clusterQueue.markInFlight(QUEUE, PROFILE, 'being deleted', false);
    updateQueueFromObservation(clusterQueue, { queue: QUEUE, id: 'team-a/web' }, observed());
    expect(clusterQueue.requestTurn(siblingEntry('api'))).to.include({ kind: 'granted' });
  });
});

describe('updateQueueFromOutcome', () => {
  const mutation: Mutation = { kind: 'deleteProfile', name: ProfileName.of('former'), because: 'unwanted' };
  const desired = desiredOf();

  it('marks the deleted profile as busy, not the profile that replaces it', () => {
    const { clusterQueue } = newServices();
    const queueEntry = queueEntryFor(anObject(), QUEUE, desired);
    clusterQueue.requestTurn(queueEntry);
    updateQueueFromOutcome(clusterQueue, queueEntry, mutation, { kind: 'done' }, 0);
    expect(clusterQueue.requestTurn(siblingEntry('api'))).to.include({
      kind: 'wait',
      ahead: 'former',
      doing: 'being deleted',
    });
  });
});

const siblingsIn = (...objects: readonly KubeObject[]): readonly AWSFargateProfile[] => {
  const store = new Store({ name: 'profiles', logger: new MemoryLogger(), indexes: PROFILE_INDEXES });
  store.replaceAll(objects, '100');
  return listSiblings(anObject(), new TypedStore(store, decodeAWSFargateProfile));
};

describe('updateQueueFromStatus', () => {
  const BUSY: AWSFargateProfileStatus = {
    ...RECORDED,
    profileName: ProfileName.of('team-a_api'),
    profileStatus: 'CREATING',
  };
  const sibling = (status: AWSFargateProfileStatus): KubeObject => ({
    ...anObject({ metadata: { name: 'api', uid: 'uid-of-api' }, status }),
  });

  const aheadAfter = (...siblings: readonly KubeObject[]) => {
    const { clusterQueue } = newServices();
    updateQueueFromStatus(clusterQueue, QUEUE, () => siblingsIn(...siblings));
    const turn = clusterQueue.requestTurn(siblingEntry('waiting'));
    return turn.kind === 'wait'
      ? `${turn.ahead}, ${turn.doing}${turn.isUnverified ? ', to be observed' : ''}`
      : turn.kind;
  };

  it('puts a profile ahead that was in transit when its status was written, as a profile to be observed', () => {
    expect(aheadAfter(sibling(BUSY))).to.equal('team-a_api, being created, to be observed');
  });

  const rows: readonly (readonly [string, AWSFargateProfileStatus])[] = [
    ['is settled', { ...BUSY, profileStatus: 'ACTIVE' }],
    ['is in another region', { ...BUSY, region: 'eu-north-1' }],
    ['has no profile yet', RECORDED],
  ];
  for (const [situation, status] of rows) {
    it(`ignores a sibling that ${situation}`, () => expect(aheadAfter(sibling(status))).to.equal('granted'));
  }

  it('ignores the object itself, and a sibling that cannot be decoded', () => {
    const itself: KubeObject = { ...anObject({ status: BUSY }) };
    const odd: KubeObject = { ...sibling(BUSY), spec: { clusterName: 'prod', selectors: 7 } };
    expect(aheadAfter(itself)).to.equal('granted');
    expect(aheadAfter(odd)).to.equal('granted');
  });

  it('does nothing once an observation has updated the queue', () => {
    const { clusterQueue } = newServices();
    clusterQueue.markSettled(QUEUE, 'team-a_other');
    clusterQueue.markInFlight(QUEUE, 'team-a_api', 'being created', false);
    clusterQueue.markSettled(QUEUE, 'team-a_api');
    updateQueueFromStatus(clusterQueue, QUEUE, () => siblingsIn(sibling(BUSY)));
    expect(clusterQueue.requestTurn(siblingEntry('waiting')).kind).to.equal('granted');
  });
});

describe('unobservedProfiles', () => {
  const sibling = (provisionedIn: string | undefined, status: AWSFargateProfileStatus = {}, clusterName = 'prod') => {
    const annotations = provisionedIn === undefined ? {} : { [PROVISIONED_IN_ANNOTATION]: provisionedIn };
    const object = anObject({ metadata: { name: 'api', uid: 'uid-of-api', annotations }, status });
    return { ...object, spec: { ...object.spec, clusterName } };
  };
  const unobserved = (object: KubeObject, isObserved = false) =>
    unobservedProfiles(QUEUE, siblingsIn(object), ({ metadata }) => isObserved && metadata.uid === 'uid-of-api');

  it('lists a sibling of this queue whose status a move has dropped', () => {
    expect(unobserved(sibling(QUEUE))).to.deep.equal(['team-a_api']);
  });

  const rows: readonly (readonly [string, KubeObject])[] = [
    ['a sibling whose status has its location', sibling(QUEUE, RECORDED)],
    ['a sibling that has nothing in AWS', sibling(NOWHERE)],
    ['a sibling without the provisioned-in annotation', sibling(undefined)],
    ['a sibling of another queue', sibling(queueNameOf(ACCOUNT, 'eu-north-1', EKS_CLUSTER))],
    ['an object of another Cluster', sibling(QUEUE, {}, 'other')],
    ['a sibling that cannot be decoded', { ...sibling(QUEUE), spec: { clusterName: 'prod', selectors: 7 } }],
    ['the object itself', anObject({ metadata: { annotations: { [PROVISIONED_IN_ANNOTATION]: QUEUE } } })],
  ];
  for (const [which, object] of rows) it(`leaves out ${which}`, () => expect(unobserved(object)).to.deep.equal([]));

  it('leaves out a sibling that its own pass has observed, because the queue knows its state', () => {
    expect(unobserved(sibling(QUEUE), true)).to.deep.equal([]);
  });
});
