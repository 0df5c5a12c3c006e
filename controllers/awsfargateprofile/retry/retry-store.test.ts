import { expect } from 'chai';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { DELETION_REQUESTED_ANNOTATION, PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { VirtualClock } from '../../../pkg/env/testing/virtual-clock.ts';
import { keyOf } from '../../../pkg/kube/object-key.ts';
import { RetryStore } from './retry-store.ts';
import { withCreateOutcome } from './create-visibility.ts';
import { withWait } from './retry-state.ts';
import type { MutationOutcome } from '../model/outcome.ts';
import type { ReasonName } from '../reasons/reasons.ts';
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

  it('knows which objects a pass has observed, until they are forgotten', () => {
    const { store } = newStore();
    const [web, api] = [anObject(), anObject({ metadata: { name: 'api' } })];
    store.update(api, () => ({ confirmedCreate: 'x' }));
    store.recordObservation(web, observed());
    expect([store.hasObserved(web), store.hasObserved(api)]).to.deep.equal([true, false]);
    expect(store.hasObserved(anObject({ metadata: { uid: 'another' } })), 'another object of the same name').to.equal(
      false,
    );
    store.forget(keyOf(web));
    expect(store.hasObserved(web)).to.equal(false);
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

    for (const [title, reason, change, expected] of [
      ['ends a wait for a quota when a sibling is gone', full, 'gone', true],
      ['continues a wait for a quota when a sibling changes', full, 'changed', false],
      ['ends a wait for a settings conflict when a sibling changes', conflict, 'changed', true],
      [
        'continues a wait for the Cluster when a sibling is gone',
        newReason('WaitingForCluster', { cluster: 'x' }),
        'gone',
        false,
      ],
    ] as const)
      it(title, () => expect(waitingFor(reason).endSiblingWait(keyOf(anObject()), change)).to.equal(expected));

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

    for (const [situation, object] of [
      ['for an object that is not being deleted', anObject(MOVED)],
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

describe('RetryStore.usualDuration', () => {
  const there = (status: string) => observed({ profile: aProfile({ status }) });
  const gone = observed();
  const inRegion = (region: string) => anObject({ status: { region } });
  const object = inRegion('eu-west-1');
  let clock: VirtualClock;
  let store: RetryStore;

  beforeEach(() => {
    clock = new VirtualClock();
    store = new RetryStore(clock);
  });

  async function waitFor(reason: 'Creating' | 'DeletingProfile'): Promise<void> {
    store.update(object, (state) => withWait(state, newReason(reason, { name: PROFILE }), clock.monotonic()));
    await clock.advance(2_000);
  }

  const rows: readonly (readonly [string, 'Creating' | 'DeletingProfile', typeof gone, number | undefined])[] = [
    ['a creation that has succeeded', 'Creating', there('ACTIVE'), 2_000],
    ['a creation that continues', 'Creating', there('CREATING'), undefined],
    ['a creation that has failed', 'Creating', there('CREATE_FAILED'), undefined],
    ['a creation whose profile has gone', 'Creating', gone, undefined],
    ['a deletion that has ended', 'DeletingProfile', gone, 2_000],
    ['a deletion that continues', 'DeletingProfile', there('DELETING'), undefined],
    ['a deletion that has failed', 'DeletingProfile', there('DELETE_FAILED'), undefined],
    ['a deletion in an EKS cluster that is gone', 'DeletingProfile', observed({ cluster: 'gone' }), undefined],
  ];
  for (const [situation, reason, observation, duration] of rows) {
    it(`is ${duration === undefined ? 'not ' : ''}learnt from ${situation}`, async () => {
      await waitFor(reason);
      store.recordObservation(object, observation);
      const known = (['Creating', 'DeletingProfile'] as const).map((name) => store.usualDuration(object, name)?.most);
      expect(known).to.deep.equal([
        reason === 'Creating' ? duration : undefined,
        reason === 'Creating' ? undefined : duration,
      ]);
    });
  }

  it('is shared by the objects of a region, for one reason only', async () => {
    await waitFor('Creating');
    store.recordObservation(object, there('ACTIVE'));
    const usual = (region: string, name: ReasonName) => store.usualDuration(inRegion(region), name)?.most;
    expect(usual('eu-west-1', 'Creating')).to.equal(2_000);
    expect(usual('eu-west-1', 'WaitingForSibling')).to.equal(undefined);
    expect(usual('us-east-1', 'Creating')).to.equal(undefined);
  });

  for (const [reason, status, end] of [
    ['Creating', 'CREATING', there('ACTIVE')],
    ['DeletingProfile', 'DELETING', gone],
  ] as const)
    it(`lies between the last observation of ${status} and the end`, async () => {
      await waitFor(reason);
      store.recordObservation(object, there(status));
      await clock.advance(500);
      store.recordObservation(object, end);
      expect(store.usualDuration(object, reason)).to.deep.equal({ least: 2_000, most: 2_500 });
    });

  it('has lasted only until EKS was asked, if the answer comes late', async () => {
    await waitFor('Creating');
    const askedAt = clock.monotonic();
    await clock.advance(3_000);
    store.recordObservation(object, there('CREATING'), askedAt);
    store.recordObservation(object, there('ACTIVE'));
    expect(store.usualDuration(object, 'Creating')).to.deep.equal({ least: 2_000, most: 5_000 });
  });

  it('is not learnt from an object that has waited for nothing', async () => {
    store.recordObservation(object, there('ACTIVE'));
    expect(store.usualDuration(object, 'Creating')).to.equal(undefined);
  });
});
