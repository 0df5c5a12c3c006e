import { expect } from 'chai';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { DELETION_REQUESTED_ANNOTATION, PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { ProfileName } from '../../../api/names.ts';
import { keyOf } from '../../../pkg/kube/object-key.ts';
import { RetryStore } from './retry-store.ts';
import { withCreateOutcome } from './create-visibility.ts';
import { withWait } from './retry-state.ts';
import type { MutationOutcome } from '../model/outcome.ts';
import { newReason } from '../reasons/reasons.ts';
import {
  HERE,
  MOVED,
  PROFILE,
  RECORDED,
  CREATED_AT,
  aCluster,
  aDeletedObject,
  aFailure,
  aProfile,
  anObject,
  desiredOf,
  observed,
} from '../testing/builders.ts';
import { NOWHERE } from '../model/location.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function newStore(): { readonly store: RetryStore; readonly at: (now: number) => void } {
  let now = 0;
  return { store: new RetryStore({ monotonic: () => now }), at: (then) => (now = then) };
}

describe('RetryStore', () => {
  it('gives another object of the same name no retry state', () => {
    const { store } = newStore();
    store.update(anObject(), () => ({ confirmedCreate: 'x' }));
    expect(store.get(anObject({ metadata: { uid: 'another' } }))).to.deep.equal({});
  });

  it('keeps the states of two objects apart, until a state is forgotten', () => {
    const { store } = newStore();
    const [web, api] = [anObject(), anObject({ metadata: { name: 'api' } })];
    store.update(web, () => ({ confirmedCreate: 'x' }));
    expect([store.get(web), store.get(api)]).to.deep.equal([{ confirmedCreate: 'x' }, {}]);
    store.forget(keyOf(web));
    expect(store.get(web)).to.deep.equal({});
  });

  describe('isStoppedOtherwise', () => {
    const sibling = newReason('WaitingForSibling', { ahead: 'x', doing: 'being created', isUnverified: false });
    const stalled = (status: 'True' | 'False') =>
      anObject({ status: { conditions: [{ type: 'Stalled', status, lastTransitionTime: CREATED_AT }] } });

    for (const [what, object, reason, expected] of [
      ['is false for a wait for a sibling', anObject(), sibling, false],
      [
        'is false for an update of the EKS cluster',
        anObject(),
        newReason('ClusterUpdating', { cluster: 'c', said: 'no', remaining: 0 }),
        false,
      ],
      ['is true for another wait', anObject(), newReason('Creating', { name: 'x' }), true],
      ['is false for an object without a pass', stalled('False'), undefined, false],
      ['is true after a start, for an object that is Stalled', stalled('True'), undefined, true],
      ['is false once a stalled object waits for its turn', stalled('True'), sibling, false],
    ] as const)
      it(what, () => {
        const { store } = newStore();
        if (reason !== undefined) store.update(object, (state) => withWait(state, reason, 0));
        expect(store.isStoppedOtherwise(object)).to.equal(expected);
        expect(store.waitingForTurn).to.equal(reason === sibling ? 1 : 0);
      });
  });

  it('keeps a change that is made while a pass holds the state', () => {
    const { store } = newStore();
    const quota = newReason('QuotaExceeded', { detail: 'no more' });
    store.update(anObject(), (state) => withWait(state, quota, 0));
    const handle = store.handleFor(anObject());
    store.endSiblingWait(keyOf(anObject()), 'gone');
    handle.update((state) => ({ ...state, confirmedCreate: 'x' }));
    expect(store.get(anObject())).to.deep.equal({ confirmedCreate: 'x' });
  });

  describe('endSiblingWait', () => {
    const waitingFor = (reason: ReturnType<typeof newReason>) => {
      const { store } = newStore();
      store.update(anObject(), () => withWait({}, reason, 0));
      return store;
    };
    const full = newReason('QuotaExceeded', { detail: 'no more' });
    const conflict = newReason('RoleSettingsConflict', { name: 'pods', other: 'x', settings: ['rolePath'] });

    for (const [reason, change, expected] of [
      [full, 'gone', true],
      [full, 'changed', false],
      [conflict, 'changed', true],
      [newReason('WaitingForCluster', { cluster: 'x' }), 'gone', false],
    ] as const)
      it(`${expected ? 'ends' : 'continues'} the wait when a sibling is ${change}: ${reason.name}`, () =>
        expect(waitingFor(reason).endSiblingWait(keyOf(anObject()), change)).to.equal(expected));

    it('ends the waits of the siblings, and of no other object of the namespace', () => {
      const { store } = newStore();
      const [web, api] = [anObject(), anObject({ metadata: { name: 'api' } })];
      for (const object of [web, api]) store.update(object, () => withWait({}, full, 0));
      expect(store.endSiblingWaits('team-a', 'gone', ({ name }) => name === 'api')).to.deep.equal([keyOf(api)]);
      expect(store.get(web).waiting).to.include({ name: full.name });
    });

    it('forgets the wait, so that the object is retried at once', () => {
      const store = waitingFor(full);
      store.endSiblingWait(keyOf(anObject()), 'gone');
      expect(store.get(anObject())).to.deep.equal({});
    });
  });

  describe('clusterGoneFor', () => {
    const absent = { object: anObject(), cluster: { kind: 'absent' } } as const;
    const found = { object: anObject(), cluster: { kind: 'found', object: aCluster() } } as const;
    const unknown = { object: anObject(), cluster: { kind: 'unknown', reason: 'not served' } } as const;

    it('counts from the first pass that did not find the Cluster', () => {
      const { store, at } = newStore();
      expect(store.clusterGoneFor(absent)).to.equal(0);
      at(20 * SECOND);
      expect(store.clusterGoneFor(absent)).to.equal(20 * SECOND);
    });

    it('starts again once the Cluster was found, and goes on counting while the cache cannot tell', () => {
      const { store, at } = newStore();
      store.clusterGoneFor(absent);
      at(20 * SECOND);
      expect(store.clusterGoneFor(unknown)).to.equal(undefined);
      expect(store.clusterGoneFor(absent)).to.equal(20 * SECOND);
      expect(store.clusterGoneFor(found)).to.equal(undefined);
      expect(store.clusterGoneFor(absent)).to.equal(0);
    });
  });

  describe('isCreateUnconfirmed after clusterctl move', () => {
    const arrived = (annotations: Readonly<Record<string, string>>): AWSFargateProfile =>
      aDeletedObject({ metadata: { annotations } });
    const moved = aDeletedObject(MOVED);
    const located = aDeletedObject({ status: RECORDED });

    it('is true for a minute, also once status has the location again', () => {
      const { store, at } = newStore();
      expect(store.isCreateUnconfirmed(moved)).to.equal(true);
      at(MINUTE - 1);
      expect(store.isCreateUnconfirmed(located)).to.equal(true);
      at(MINUTE);
      expect(store.isCreateUnconfirmed(located)).to.equal(false);
    });

    it('is false once a pass has observed a profile of that name', () => {
      const { store } = newStore();
      expect(store.isCreateUnconfirmed(moved)).to.equal(true);
      store.recordObservation(moved, observed({ profile: aProfile({ status: 'DELETING' }) }));
      expect(store.isCreateUnconfirmed(moved)).to.equal(false);
    });

    it('is false when this process has recorded the first location of the object', () => {
      const { store } = newStore();
      store.recordNoCreateSent(anObject());
      expect(store.isCreateUnconfirmed(moved)).to.equal(false);
    });

    it('stays true when a pass of a deletion sees the old profile, but not the one that was to replace it', () => {
      const { store } = newStore();
      const replacing = anObject({
        status: {
          ...RECORDED,
          createRequestedAt: CREATED_AT,
          profileName: PROFILE,
          predecessors: [{ name: ProfileName.of('successor') }, { name: PROFILE, arn: aProfile().arn }],
        },
      });
      expect(store.isCreateUnconfirmed(replacing)).to.equal(true);
      store.recordObservation(replacing, observed({ profile: aProfile() }));
      expect(store.isCreateUnconfirmed(replacing)).to.equal(true);
      store.recordObservation(replacing, observed({ profile: aProfile({ name: ProfileName.of('successor') }) }));
      expect(store.isCreateUnconfirmed(replacing)).to.equal(false);
    });

    it('is true for another object of the same name that a move has brought', () => {
      const { store } = newStore();
      store.recordNoCreateSent(anObject());
      expect(store.isCreateUnconfirmed({ ...moved, metadata: { ...moved.metadata, uid: 'another' } })).to.equal(true);
    });

    it('is true after a create without an answer', () => {
      const { store } = newStore();
      store.recordNoCreateSent(anObject());
      const requested = anObject({ status: { createRequestedAt: CREATED_AT } });
      const unanswered: MutationOutcome = { kind: 'failed', failure: aFailure({ code: 'NoAnswer' }) };
      store.update(requested, (state) =>
        withCreateOutcome(state, { object: requested, desired: desiredOf(requested) }, unanswered),
      );
      expect(store.isCreateUnconfirmed(moved)).to.equal(true);
    });

    it('is false while the object lives, and true when it is deleted after a pass has written its status again', () => {
      const { store } = newStore();
      expect(store.isCreateUnconfirmed(anObject(MOVED))).to.equal(false);
      expect(store.isCreateUnconfirmed(located)).to.equal(true);
    });

    it('is true for a request that status names without the account', () => {
      const status = { createRequestedAt: CREATED_AT };
      expect(newStore().store.isCreateUnconfirmed(anObject({ ...MOVED, status }))).to.equal(true);
    });

    for (const [situation, object] of [
      ['for an object that has nothing in AWS', arrived({ [PROVISIONED_IN_ANNOTATION]: NOWHERE })],
      ['for an object with a status', located],
      [
        'for an object whose deletion had begun before the move',
        arrived({ [PROVISIONED_IN_ANNOTATION]: HERE, [DELETION_REQUESTED_ANNOTATION]: 'true' }),
      ],
    ] as const)
      it(`is false ${situation}`, () => expect(newStore().store.isCreateUnconfirmed(object)).to.equal(false));
  });
});
