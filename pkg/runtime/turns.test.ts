import { expect } from 'chai';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import type { Ticket } from './turns.ts';
import { BUSY_TRUSTED, Turns } from './turns.ts';

const LANE = '111122223333/eu-west-1/prod';

describe('Turns', () => {
  let clock: VirtualClock;
  let turns: Turns;
  let woken: string[];

  beforeEach(() => {
    clock = new VirtualClock();
    woken = [];
    turns = new Turns({ clock, wake: (id) => woken.push(id) });
  });

  const ticket = (name: string, over: Partial<Ticket> = {}): Ticket => ({
    lane: LANE,
    id: `team-a/${name}`,
    name: `team-a_${name}`,
    urgent: false,
    createdAt: '2026-11-20T10:00:00Z',
    ...over,
  });
  const [a, b, c] = [ticket('a'), ticket('b'), ticket('c')];
  const isMine = (asking: Ticket): boolean => turns.ask(asking).kind === 'yours';

  describe('a free lane', () => {
    it('is anybody’s', () => expect(turns.ask(b)).to.deep.equal({ kind: 'yours' }));

    it('was never heard of until somebody asks', () => {
      expect(turns.isUnknown(LANE)).to.equal(true);
      turns.ask(a);
      expect(turns.isUnknown(LANE)).to.equal(false);
    });

    it('is still the same one’s when it asks again', () => {
      turns.ask(a);
      expect(turns.ask(a)).to.deep.equal({ kind: 'yours' });
    });

    it('has nothing to do with another lane', () => {
      turns.ask(a);
      expect(isMine(ticket('b', { lane: '111122223333/eu-west-1/staging' }))).to.equal(true);
    });
  });

  describe('a lane in which somebody', () => {
    it('is about to change something keeps others waiting', () => {
      turns.ask(a);
      expect(turns.ask(b)).to.deep.equal({ kind: 'wait', ahead: 'team-a_a', doing: 'starting', foreign: false });
    });

    it('changes something says who and what', () => {
      turns.ask(a);
      turns.accepted(a, 'being created');
      expect(turns.ask(b)).to.deep.equal({ kind: 'wait', ahead: 'team-a_a', doing: 'being created', foreign: false });
    });

    it('changes something lets the same one change it further', () => {
      turns.ask(a);
      turns.accepted(a, 'being created');
      expect(isMine(a)).to.equal(true);
    });

    it('was seen by hearsay says that nobody here looks after it', () => {
      turns.busy(LANE, 'theirs', 'being deleted', true);
      expect(turns.ask(b)).to.deep.equal({ kind: 'wait', ahead: 'theirs', doing: 'being deleted', foreign: true });
    });

    it('was seen both by its own pass and by hearsay is looked after', () => {
      turns.busy(LANE, 'team-a_a', 'being created', false);
      turns.busy(LANE, 'team-a_a', 'being created', true);
      expect(turns.ask(b)).to.include({ kind: 'wait', foreign: false });
    });

    it('was seen by hearsay first, then by its own pass, is looked after', () => {
      turns.busy(LANE, 'team-a_a', 'being created', true);
      turns.busy(LANE, 'team-a_a', 'being created', false);
      expect(turns.ask(b)).to.include({ kind: 'wait', foreign: false });
    });

    it('was seen, and somebody else after that, is in the hands of the latter', () => {
      turns.busy(LANE, 'team-a_a', 'being created', false);
      turns.busy(LANE, 'theirs', 'being deleted', true);
      turns.settled(LANE, 'team-a_a');
      expect(turns.ask(b)).to.include({ kind: 'wait', ahead: 'theirs' });
    });

    it('was seen is asked after when it is not seen again', async () => {
      turns.busy(LANE, 'team-a_a', 'being created', false);
      await clock.advance(BUSY_TRUSTED - 1);
      expect(isMine(b)).to.equal(false);
      await clock.advance(1);
      expect(isMine(b)).to.equal(true);
    });

    it('is seen again and again stays busy', async () => {
      for (let poll = 0; poll < 10; poll++) {
        turns.busy(LANE, 'team-a_a', 'being created', false);
        await clock.advance(15_000);
      }
      expect(isMine(b)).to.equal(false);
    });
  });

  describe('a turn that ends', () => {
    it('goes to the one that waits', () => {
      turns.ask(a);
      turns.accepted(a, 'being created');
      turns.ask(b);
      expect(woken).to.deep.equal([]);
      turns.settled(LANE, 'team-a_a');
      expect(woken).to.deep.equal(['team-a/b']);
      expect(isMine(b)).to.equal(true);
    });

    it('goes on to the next when the change is refused', () => {
      turns.ask(a);
      turns.ask(b);
      turns.release(a);
      expect(woken).to.deep.equal(['team-a/b']);
    });

    it('is nobody’s to give who does not hold it', () => {
      turns.ask(a);
      turns.ask(b);
      turns.release(b);
      expect(woken).to.deep.equal([]);
      expect(isMine(c)).to.equal(false);
    });

    it('tells all that wait when somebody else was seen in the lane: they were told another name', () => {
      turns.ask(a);
      turns.ask(b);
      turns.ask(c);
      turns.busy(LANE, 'theirs', 'being deleted', true);
      turns.release(a);
      expect(woken).to.deep.equal(['team-a/b', 'team-a/c']);
      expect(turns.ask(b)).to.deep.include({ kind: 'wait', ahead: 'theirs', foreign: true });
      turns.settled(LANE, 'theirs');
      expect(woken).to.deep.equal(['team-a/b', 'team-a/c', 'team-a/b']);
    });

    it('tells all that wait when the lane is closed', () => {
      turns.ask(a);
      turns.ask(b);
      turns.close(LANE, 1_000);
      turns.release(a);
      expect(woken).to.deep.equal(['team-a/b']);
      expect(turns.ask(b).kind).to.equal('closed');
    });

    it('wakes nobody while somebody is about to change something', () => {
      turns.busy(LANE, 'theirs', 'being deleted', true);
      turns.ask(b);
      const theirs = ticket('c', { name: 'theirs' });
      expect(isMine(theirs), 'what is in the lane may be changed').to.equal(true);
      turns.settled(LANE, 'theirs');
      expect(woken).to.deep.equal([]);
    });

    it('is not ended by what is not in the lane', () => {
      turns.ask(a);
      turns.accepted(a, 'being created');
      turns.ask(b);
      turns.settled(LANE, 'team-a_c');
      expect(woken).to.deep.equal([]);
      expect(isMine(b)).to.equal(false);
    });
  });

  describe('the line', () => {
    const young = ticket('young', { createdAt: '2026-11-20T12:00:00Z' });
    const leaving = ticket('leaving', { createdAt: '2026-11-20T13:00:00Z', urgent: true });
    const leavingToo = ticket('leaving-too', { createdAt: '2026-11-20T12:30:00Z', urgent: true });

    const orders: readonly (readonly [string, readonly Ticket[], Ticket])[] = [
      ['the older first', [young, a], a],
      ['of two of one age the smaller name', [b, a], a],
      ['what is urgent before what is older', [a, leaving], leaving],
      ['of two urgent ones the older', [leaving, a, leavingToo], leavingToo],
    ];
    for (const [what, waiting, first] of orders) {
      it(`is in order: ${what}`, () => {
        turns.busy(LANE, 'theirs', 'being deleted', true);
        for (const one of waiting) turns.ask(one);
        turns.settled(LANE, 'theirs');
        expect(woken).to.deep.equal([first.id]);
      });
    }

    it('keeps the place for the one that was woken', () => {
      turns.busy(LANE, 'theirs', 'being deleted', true);
      turns.ask(a);
      turns.settled(LANE, 'theirs');
      expect(turns.ask(b)).to.deep.equal({ kind: 'wait', ahead: 'team-a_a', doing: 'next in turn', foreign: false });
      expect(isMine(a)).to.equal(true);
    });

    it('does not keep it from one that goes before', () => {
      turns.busy(LANE, 'theirs', 'being deleted', true);
      turns.ask(a);
      turns.settled(LANE, 'theirs');
      expect(isMine(leaving)).to.equal(true);
      expect(isMine(a)).to.equal(false);
    });

    it('does not keep it for ever', async () => {
      turns.busy(LANE, 'theirs', 'being deleted', true);
      turns.ask(a);
      turns.settled(LANE, 'theirs');
      await clock.advance(4_999);
      expect(isMine(b)).to.equal(false);
      await clock.advance(1);
      expect(isMine(b)).to.equal(true);
    });

    it('passes over one that has not asked for long', async () => {
      turns.busy(LANE, 'theirs', 'being deleted', true);
      turns.ask(a);
      await clock.advance(30_000);
      turns.busy(LANE, 'theirs', 'being deleted', true);
      turns.ask(b);
      await clock.advance(10_000);
      turns.settled(LANE, 'theirs');
      expect(woken).to.deep.equal(['team-a/b']);
    });

    it('goes on when the one whose turn it is leaves', () => {
      turns.busy(LANE, 'theirs', 'being deleted', true);
      turns.ask(a);
      turns.ask(b);
      turns.settled(LANE, 'theirs');
      turns.leave('team-a/a');
      expect(woken).to.deep.equal(['team-a/a', 'team-a/b']);
    });

    it('forgets one that leaves before its turn', () => {
      turns.busy(LANE, 'theirs', 'being deleted', true);
      turns.ask(a);
      turns.ask(b);
      turns.leave('team-a/a');
      turns.settled(LANE, 'theirs');
      expect(woken).to.deep.equal(['team-a/b']);
    });

    it('takes no notice of the leaving of one that does not wait', () => {
      turns.ask(a);
      turns.leave('team-a/a');
      expect(isMine(b), 'its turn is given back by release alone').to.equal(false);
    });
  });

  describe('a closed lane', () => {
    it('is nobody’s until its time has come', async () => {
      turns.close(LANE, 15_000);
      expect(turns.ask(a)).to.deep.equal({ kind: 'closed', until: 15_000 });
      await clock.advance(14_999);
      expect(isMine(a)).to.equal(false);
      await clock.advance(1);
      expect(isMine(a)).to.equal(true);
    });

    it('is not opened by a shorter closing', () => {
      turns.close(LANE, 15_000);
      turns.close(LANE, 1_000);
      expect(turns.ask(a)).to.deep.equal({ kind: 'closed', until: 15_000 });
    });

    it('still knows who waits', () => {
      turns.busy(LANE, 'theirs', 'being deleted', true);
      turns.close(LANE, 15_000);
      turns.ask(a);
      turns.settled(LANE, 'theirs');
      expect(woken).to.deep.equal(['team-a/a']);
    });
  });
});
