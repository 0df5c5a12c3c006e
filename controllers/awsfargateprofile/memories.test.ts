import { expect } from 'chai';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { DELETION_REQUESTED_ANNOTATION, PROVISIONED_IN_ANNOTATION } from '../../api/v1beta2/index.ts';
import { VirtualClock } from '../../pkg/env/testing/virtual-clock.ts';
import { keyOf } from '../../pkg/kube/paths.ts';
import { Memories } from './memories.ts';
import { rememberCreate, rememberWaiting } from './memory.ts';
import type { Outcome } from './model.ts';
import type { Reason } from './reasons.ts';
import { why } from './reasons.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  PROFILE,
  THEN,
  aCluster,
  aDeletedObject,
  aFailure,
  aProfile,
  anObject,
  desiredOf,
  observed,
} from './testing/builders.ts';
import { NOWHERE } from './whereabouts.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Memories under a clock that the test sets. */
function underClock(): { readonly memories: Memories; readonly at: (now: number) => void } {
  let now = 0;
  return { memories: new Memories({ monotonic: () => now }), at: (then) => (now = then) };
}

describe('Memories', () => {
  it('hand nothing on to another object of the same name', () => {
    const { memories: all } = underClock();
    all.keep(anObject(), { answered: 'x' });
    expect(all.of(anObject({ metadata: { uid: 'another' } }))).to.deep.equal({});
  });

  it('keep what is remembered of each object apart, until it is forgotten', () => {
    const { memories: all } = underClock();
    const [web, api] = [anObject(), anObject({ metadata: { name: 'api' } })];
    all.keep(web, { answered: 'x' });
    expect([all.of(web), all.of(api)]).to.deep.equal([{ answered: 'x' }, {}]);
    all.forget(keyOf(web));
    expect(all.of(web)).to.deep.equal({});
  });

  it('know at which objects a pass has looked, until they are forgotten', () => {
    const { memories: all } = underClock();
    const [web, api] = [anObject(), anObject({ metadata: { name: 'api' } })];
    all.keep(api, { answered: 'x' });
    all.noteSeen(web, observed());
    expect([all.hasSeen(web), all.hasSeen(api)]).to.deep.equal([true, false]);
    expect(all.hasSeen(anObject({ metadata: { uid: 'another' } })), 'another of its name').to.equal(false);
    all.forget(keyOf(web));
    expect(all.hasSeen(web)).to.equal(false);
  });

  describe('awaitsSibling', () => {
    const waitingFor = (reason: ReturnType<typeof why>) => {
      const { memories: all } = underClock();
      all.keep(anObject(), rememberWaiting({}, reason, 0));
      return all;
    };
    const full = why('QuotaExceeded', { words: 'no more' });
    const conflict = why('RoleSettingsConflict', { name: 'pods', other: 'x', settings: ['rolePath'] });

    for (const [what, reason, news, expected] of [
      ['a free place ends a quota', full, 'gone', true],
      ['a change of a sibling frees no place', full, 'changed', false],
      ['a change may end a conflict', conflict, 'changed', true],
      ['the end of a sibling does not create a cluster', why('WaitingForCluster', { cluster: 'x' }), 'gone', false],
    ] as const)
      it(what, () => expect(waitingFor(reason).awaitsSibling(keyOf(anObject()), news)).to.equal(expected));

    it('forgets what was refused, so that it is tried at once', () => {
      const all = waitingFor(full);
      all.awaitsSibling(keyOf(anObject()), 'gone');
      expect(all.of(anObject())).to.deep.equal({});
    });
  });

  describe('clusterGoneFor', () => {
    const absent = { object: anObject(), cluster: { kind: 'absent' } } as const;
    const found = { object: anObject(), cluster: { kind: 'found', object: aCluster() } } as const;
    const unknown = { object: anObject(), cluster: { kind: 'unknown', why: 'not served' } } as const;

    it('counts from the first look that did not find it', () => {
      const { memories: all, at } = underClock();
      expect(all.clusterGoneFor(absent)).to.equal(0);
      at(20 * SECOND);
      expect(all.clusterGoneFor(absent)).to.equal(20 * SECOND);
    });

    it('counts anew once it was there, and goes on counting where nobody knew', () => {
      const { memories: all, at } = underClock();
      all.clusterGoneFor(absent);
      at(20 * SECOND);
      expect(all.clusterGoneFor(unknown)).to.equal(undefined);
      expect(all.clusterGoneFor(absent)).to.equal(20 * SECOND);
      expect(all.clusterGoneFor(found)).to.equal(undefined);
      expect(all.clusterGoneFor(absent)).to.equal(0);
    });
  });

  describe('a create that a move may have made everybody forget', () => {
    const HERE = `${ACCOUNT}/eu-west-1/${EKS_CLUSTER}`;
    const arrived = (annotations: Readonly<Record<string, string>>): AWSFargateProfile =>
      aDeletedObject({ metadata: { annotations } });
    const moved = arrived({ [PROVISIONED_IN_ANNOTATION]: HERE });
    const located = aDeletedObject({ status: { account: ACCOUNT, region: 'eu-west-1', eksClusterName: EKS_CLUSTER } });

    it('may still appear for a minute, also once status says again where it would be', () => {
      const { memories: all, at } = underClock();
      expect(all.isCreateUnseen(moved)).to.equal(true);
      at(MINUTE - 1);
      expect(all.isCreateUnseen(located)).to.equal(true);
      at(MINUTE);
      expect(all.isCreateUnseen(located)).to.equal(false);
    });

    it('has appeared once a profile of that name was seen', () => {
      const { memories: all } = underClock();
      expect(all.isCreateUnseen(moved)).to.equal(true);
      all.noteSeen(moved, observed({ profile: aProfile({ status: 'DELETING' }) }));
      expect(all.isCreateUnseen(moved)).to.equal(false);
    });

    it('is not waited for where it is known that none was sent, as everything was begun here', () => {
      const { memories: all } = underClock();
      all.noteBegin(anObject());
      expect(all.isCreateUnseen(moved)).to.equal(false);
    });

    it('is waited for by an object of the same name that came back by a move', () => {
      const { memories: all } = underClock();
      all.noteBegin(anObject());
      expect(all.isCreateUnseen({ ...moved, metadata: { ...moved.metadata, uid: 'another' } })).to.equal(true);
    });

    it('is waited for once a create was sent that was never answered', () => {
      const { memories: all } = underClock();
      all.noteBegin(anObject());
      const asked = anObject({ status: { createRequestedAt: THEN } });
      const unanswered: Outcome = { kind: 'failed', failure: aFailure({ code: 'NoAnswer' }) };
      all.keep(asked, rememberCreate(all.of(asked), { object: asked, desired: desiredOf(asked) }, unanswered));
      expect(all.isCreateUnseen(moved)).to.equal(true);
    });

    for (const [what, object] of [
      [
        'of an object that is not on its way out',
        anObject({ metadata: { annotations: { [PROVISIONED_IN_ANNOTATION]: HERE } } }),
      ],
      ['where nothing was begun', arrived({ [PROVISIONED_IN_ANNOTATION]: NOWHERE })],
      ['of an object whose status is there', located],
      [
        'where the deletion had begun before',
        arrived({ [PROVISIONED_IN_ANNOTATION]: HERE, [DELETION_REQUESTED_ANNOTATION]: 'true' }),
      ],
    ] as const)
      it(`is not waited for ${what}`, () => expect(underClock().memories.isCreateUnseen(object)).to.equal(false));
  });
});

describe('how long EKS takes', () => {
  const there = (status: string) => observed({ profile: aProfile({ status }) });
  const gone = observed();
  const inRegion = (region: string) => anObject({ status: { region } });
  const object = inRegion('eu-west-1');
  let clock: VirtualClock;
  let memories: Memories;

  beforeEach(() => {
    clock = new VirtualClock();
    memories = new Memories(clock);
  });

  /** The object has waited for that for two seconds. */
  async function waited(what: 'Creating' | 'DeletingProfile'): Promise<void> {
    memories.keep(object, rememberWaiting(memories.of(object), why(what, { name: PROFILE }), clock.monotonic()));
    await clock.advance(2_000);
  }

  const rows: readonly (readonly [string, 'Creating' | 'DeletingProfile', typeof gone, number | undefined])[] = [
    ['a creation that has ended well', 'Creating', there('ACTIVE'), 2_000],
    ['a creation that goes on', 'Creating', there('CREATING'), undefined],
    ['a creation that has failed', 'Creating', there('CREATE_FAILED'), undefined],
    ['a creation whose profile has gone', 'Creating', gone, undefined],
    ['a deletion that has ended', 'DeletingProfile', gone, 2_000],
    ['a deletion that goes on', 'DeletingProfile', there('DELETING'), undefined],
    ['a deletion that has failed', 'DeletingProfile', there('DELETE_FAILED'), undefined],
    ['a deletion in a cluster that has gone', 'DeletingProfile', observed({ cluster: 'gone' }), undefined],
  ];
  for (const [situation, what, seen, took] of rows) {
    it(`is ${took === undefined ? 'not ' : ''}learnt from ${situation}`, async () => {
      await waited(what);
      memories.noteSeen(object, seen);
      const known = (['Creating', 'DeletingProfile'] as const).map((reason) => memories.usual(object, reason));
      expect(known).to.deep.equal([what === 'Creating' ? took : undefined, what === 'Creating' ? undefined : took]);
    });
  }

  it('is known of all objects of the region, and of no other wait', async () => {
    await waited('Creating');
    memories.noteSeen(object, there('ACTIVE'));
    const usual = (region: string, what: Reason) => memories.usual(inRegion(region), what);
    expect(usual('eu-west-1', 'Creating')).to.equal(2_000);
    expect(usual('eu-west-1', 'WaitingForSibling')).to.equal(undefined);
    expect(usual('us-east-1', 'Creating')).to.equal(undefined);
  });

  it('is not learnt from an object that has waited for nothing', async () => {
    memories.noteSeen(object, there('ACTIVE'));
    expect(memories.usual(object, 'Creating')).to.equal(undefined);
  });
});
