import { expect } from 'chai';
import { VirtualClock } from '../../pkg/env/testing/virtual-clock.ts';
import { Memories } from './memories.ts';
import { rememberWaiting } from './memory.ts';
import type { Reason } from './reasons.ts';
import { why } from './reasons.ts';
import { PROFILE, aProfile, anObject, observed } from './testing/builders.ts';

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
