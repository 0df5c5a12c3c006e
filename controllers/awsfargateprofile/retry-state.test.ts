import { expect } from 'chai';
import { keyOf } from 'controller-runtime/client';
import { RetryStore, type RetryState, withWait } from './retry-state.ts';
import { newReason } from './reasons/reasons.ts';
import { CREATED_AT, aCluster, anObject } from './testing/builders.ts';

const SECOND = 1_000;
/** A retry state that is not empty. */
const SURVEYED: RetryState = { surveyed: { until: SECOND } };

function newStore(): { readonly store: RetryStore; readonly at: (now: number) => void } {
  let now = 0;
  return { store: new RetryStore({ monotonic: () => now }), at: (then) => (now = then) };
}

describe('RetryStore', () => {
  it('gives another object of the same name no retry state', () => {
    const { store } = newStore();
    store.update(anObject(), () => SURVEYED);
    expect(store.get(anObject({ metadata: { uid: 'another' } }))).to.deep.equal({});
  });

  it('keeps the states of two objects apart, until a state is forgotten', () => {
    const { store } = newStore();
    const [web, api] = [anObject(), anObject({ metadata: { name: 'api' } })];
    store.update(web, () => SURVEYED);
    expect([store.get(web), store.get(api)]).to.deep.equal([SURVEYED, {}]);
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
      ['is false for an object without a reconcile', stalled('False'), undefined, false],
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

  it('keeps a change that is made while a reconcile holds the state', () => {
    const { store } = newStore();
    const quota = newReason('QuotaExceeded', { detail: 'no more' });
    store.update(anObject(), (state) => withWait(state, quota, 0));
    const handle = store.handleFor(anObject());
    store.endSiblingWaits('team-a', 'gone', () => true);
    handle.update((state) => ({ ...state, ...SURVEYED }));
    expect(store.get(anObject())).to.deep.equal(SURVEYED);
  });

  it('ends the waits of the siblings, and of no other object of the namespace', () => {
    const { store } = newStore();
    const full = newReason('QuotaExceeded', { detail: 'no more' });
    const [web, api] = [anObject(), anObject({ metadata: { name: 'api' } })];
    for (const object of [web, api]) store.update(object, () => withWait({}, full, 0));
    const isSibling = ({ name }: { readonly name: string }) => name === 'api';
    expect(store.endSiblingWaits('team-a', 'changed', isSibling), 'the room is still full').to.deep.equal([]);
    expect(store.endSiblingWaits('team-a', 'gone', isSibling)).to.deep.equal([keyOf(api)]);
    expect(store.get(web).waiting).to.include({ name: full.name });
    expect(store.get(api), 'retried at once').to.deep.equal({});
  });

  describe('trackCluster', () => {
    const absent = { object: anObject(), cluster: { kind: 'absent' } } as const;
    const found = { object: anObject(), cluster: { kind: 'found', object: aCluster() } } as const;
    const unknown = { object: anObject(), cluster: { kind: 'unknown', reason: 'not served' } } as const;

    it('counts from the first reconcile that did not find the Cluster, also while the cache cannot tell, and starts again once it was found', () => {
      const { store, at } = newStore();
      expect(store.trackCluster(absent)).to.equal(0);
      at(20 * SECOND);
      expect(store.trackCluster(unknown)).to.equal(undefined);
      expect(store.trackCluster(absent)).to.equal(20 * SECOND);
      expect(store.trackCluster(found)).to.equal(undefined);
      expect(store.trackCluster(absent)).to.equal(0);
    });
  });
});
