import { expect } from 'chai';
import { VirtualClock } from '../../env/testing/virtual-clock.ts';
import type { QueueEntry } from './cluster-queue.ts';
import { IN_FLIGHT_TTL, ClusterQueue } from './cluster-queue.ts';

const QUEUE = '111122223333/eu-west-1/prod';

describe('The cluster queue', () => {
  let clock: VirtualClock;
  let clusterQueue: ClusterQueue;
  let woken: string[];

  beforeEach(() => {
    clock = new VirtualClock();
    woken = [];
    clusterQueue = new ClusterQueue({ clock, wake: (id) => woken.push(id) });
  });

  const entry = (name: string, over: Partial<QueueEntry> = {}): QueueEntry => ({
    queue: QUEUE,
    id: `team-a/${name}`,
    name: `team-a_${name}`,
    urgent: false,
    createdAt: '2026-11-20T10:00:00Z',
    ...over,
  });
  const [a, b, c] = [entry('a'), entry('b'), entry('c')];
  const isGranted = (asking: QueueEntry): boolean => clusterQueue.requestTurn(asking).kind === 'granted';

  describe('when it is free', () => {
    it('grants the turn to any entry', () => expect(clusterQueue.requestTurn(b)).to.deep.equal({ kind: 'granted' }));

    it('is unknown until the first request', () => {
      expect(clusterQueue.isUnknown(QUEUE)).to.equal(true);
      clusterQueue.requestTurn(a);
      expect(clusterQueue.isUnknown(QUEUE)).to.equal(false);
    });

    it('grants the turn to the same entry again', () => {
      clusterQueue.requestTurn(a);
      expect(clusterQueue.requestTurn(a)).to.deep.equal({ kind: 'granted' });
    });

    it('does not affect another queue', () => {
      clusterQueue.requestTurn(a);
      expect(isGranted(entry('b', { queue: '111122223333/eu-west-1/staging' }))).to.equal(true);
    });
  });

  describe('with a change ahead', () => {
    it('refuses the turn while another entry holds it', () => {
      clusterQueue.requestTurn(a);
      expect(clusterQueue.requestTurn(b)).to.deep.equal({
        kind: 'wait',
        ahead: 'team-a_a',
        doing: 'about to be changed',
        isUnverified: false,
      });
    });

    it('refuses the turn with the name and the state of the accepted change', () => {
      clusterQueue.requestTurn(a);
      clusterQueue.markAccepted(a, 'being created');
      expect(clusterQueue.requestTurn(b)).to.deep.equal({
        kind: 'wait',
        ahead: 'team-a_a',
        doing: 'being created',
        isUnverified: false,
      });
    });

    it('grants the turn to the profile that is being changed', () => {
      clusterQueue.requestTurn(a);
      clusterQueue.markAccepted(a, 'being created');
      expect(isGranted(a)).to.equal(true);
    });

    it('refuses the turn as unverified for a change that its own reconcile has not observed', () => {
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      expect(clusterQueue.requestTurn(b)).to.deep.equal({
        kind: 'wait',
        ahead: 'theirs',
        doing: 'being deleted',
        isUnverified: true,
      });
    });

    it('keeps a change verified when an unverified report follows', () => {
      clusterQueue.markInFlight(QUEUE, 'team-a_a', 'being created', false);
      clusterQueue.markInFlight(QUEUE, 'team-a_a', 'being created', true);
      expect(clusterQueue.requestTurn(b)).to.include({ kind: 'wait', isUnverified: false });
    });

    it("verifies a change when the profile's own reconcile observes the change", () => {
      clusterQueue.markInFlight(QUEUE, 'team-a_a', 'being created', true);
      clusterQueue.markInFlight(QUEUE, 'team-a_a', 'being created', false);
      expect(clusterQueue.requestTurn(b)).to.include({ kind: 'wait', isUnverified: false });
    });

    it('reports the change that was observed last', () => {
      clusterQueue.markInFlight(QUEUE, 'team-a_a', 'being created', false);
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      clusterQueue.markSettled(QUEUE, 'team-a_a');
      expect(clusterQueue.requestTurn(b)).to.include({ kind: 'wait', ahead: 'theirs' });
    });

    it('grants the turn when the change was not observed again in time', async () => {
      clusterQueue.markInFlight(QUEUE, 'team-a_a', 'being created', false);
      await clock.advance(IN_FLIGHT_TTL - 1);
      expect(isGranted(b)).to.equal(false);
      await clock.advance(1);
      expect(isGranted(b)).to.equal(true);
    });

    it('refuses the turn as long as the change is observed again', async () => {
      for (let poll = 0; poll < 10; poll++) {
        clusterQueue.markInFlight(QUEUE, 'team-a_a', 'being created', false);
        await clock.advance(15_000);
      }
      expect(isGranted(b)).to.equal(false);
    });
  });

  describe('at the end of a turn', () => {
    it('wakes the waiting entry', () => {
      clusterQueue.requestTurn(a);
      clusterQueue.markAccepted(a, 'being created');
      clusterQueue.requestTurn(b);
      expect(woken).to.deep.equal([]);
      clusterQueue.markSettled(QUEUE, 'team-a_a');
      expect(woken).to.deep.equal(['team-a/b']);
      expect(isGranted(b)).to.equal(true);
    });

    it('wakes the next entry when the change is rejected', () => {
      clusterQueue.requestTurn(a);
      clusterQueue.requestTurn(b);
      clusterQueue.releaseTurn(a);
      expect(woken).to.deep.equal(['team-a/b']);
    });

    it('keeps the place of an entry that makes its change a moment later', () => {
      clusterQueue.requestTurn(a);
      clusterQueue.requestTurn(b);
      clusterQueue.releaseTurn(a, { keepsPlace: true });
      expect(woken).to.deep.equal(['team-a/a']);
      expect(clusterQueue.requestTurn(b)).to.deep.include({ kind: 'wait', ahead: 'team-a_a' });
      expect(isGranted(a)).to.equal(true);
    });

    it('ignores a release by an entry that does not hold the turn', () => {
      clusterQueue.requestTurn(a);
      clusterQueue.requestTurn(b);
      clusterQueue.releaseTurn(b);
      expect(woken).to.deep.equal([]);
      expect(isGranted(c)).to.equal(false);
    });

    it('wakes all waiting entries when another change is in flight, because they reported another name', () => {
      clusterQueue.requestTurn(a);
      clusterQueue.requestTurn(b);
      clusterQueue.requestTurn(c);
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      clusterQueue.releaseTurn(a);
      expect(woken).to.deep.equal(['team-a/b', 'team-a/c']);
      expect(clusterQueue.requestTurn(b)).to.deep.include({ kind: 'wait', ahead: 'theirs', isUnverified: true });
      clusterQueue.markSettled(QUEUE, 'theirs');
      expect(woken).to.deep.equal(['team-a/b', 'team-a/c', 'team-a/b']);
    });

    it('wakes all waiting entries when the queue is closed', () => {
      clusterQueue.requestTurn(a);
      clusterQueue.requestTurn(b);
      clusterQueue.close(QUEUE, 1_000, 'busy');
      clusterQueue.releaseTurn(a);
      expect(woken).to.deep.equal(['team-a/b']);
      expect(clusterQueue.requestTurn(b).kind).to.equal('closed');
    });

    it('wakes no entry while another entry holds the turn', () => {
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      clusterQueue.requestTurn(b);
      const theirs = entry('c', { name: 'theirs' });
      expect(isGranted(theirs), 'its own change does not block the entry').to.equal(true);
      clusterQueue.markSettled(QUEUE, 'theirs');
      expect(woken).to.deep.equal([]);
    });

    it('ignores that a profile settles which is not being changed', () => {
      clusterQueue.requestTurn(a);
      clusterQueue.markAccepted(a, 'being created');
      clusterQueue.requestTurn(b);
      clusterQueue.markSettled(QUEUE, 'team-a_c');
      expect(woken).to.deep.equal([]);
      expect(isGranted(b)).to.equal(false);
    });
  });

  describe('with waiting entries', () => {
    const young = entry('young', { createdAt: '2026-11-20T12:00:00Z' });
    const urgentEntry = entry('urgent', { createdAt: '2026-11-20T13:00:00Z', urgent: true });
    const olderUrgentEntry = entry('older-urgent', { createdAt: '2026-11-20T12:30:00Z', urgent: true });

    const orders: readonly (readonly [string, readonly QueueEntry[], QueueEntry])[] = [
      ['the older entry', [young, a], a],
      ['of two entries of the same age the one with the smaller id', [b, a], a],
      ['an urgent entry before an older one', [a, urgentEntry], urgentEntry],
      ['the older of two urgent entries', [urgentEntry, a, olderUrgentEntry], olderUrgentEntry],
    ];
    for (const [what, waiting, first] of orders) {
      it(`wakes ${what} first`, () => {
        clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
        for (const one of waiting) clusterQueue.requestTurn(one);
        clusterQueue.markSettled(QUEUE, 'theirs');
        expect(woken).to.deep.equal([first.id]);
      });
    }

    it('reserves the turn for the entry that was woken', () => {
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      clusterQueue.requestTurn(a);
      clusterQueue.markSettled(QUEUE, 'theirs');
      expect(clusterQueue.requestTurn(b)).to.deep.equal({
        kind: 'wait',
        ahead: 'team-a_a',
        doing: 'next in turn',
        isUnverified: false,
      });
      expect(isGranted(a)).to.equal(true);
    });

    it('grants the reserved turn to an entry that goes before', () => {
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      clusterQueue.requestTurn(a);
      clusterQueue.markSettled(QUEUE, 'theirs');
      expect(isGranted(urgentEntry)).to.equal(true);
      expect(isGranted(a)).to.equal(false);
    });

    it('drops the reservation after five seconds', async () => {
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      clusterQueue.requestTurn(a);
      clusterQueue.markSettled(QUEUE, 'theirs');
      await clock.advance(4_999);
      expect(isGranted(b)).to.equal(false);
      await clock.advance(1);
      expect(isGranted(b)).to.equal(true);
    });

    it('skips an entry that has not requested its turn for a long time', async () => {
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      clusterQueue.requestTurn(a);
      await clock.advance(30_000);
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      clusterQueue.requestTurn(b);
      await clock.advance(10_000);
      clusterQueue.markSettled(QUEUE, 'theirs');
      expect(woken).to.deep.equal(['team-a/b']);
    });

    it('wakes the next entry when the entry with the reservation leaves', () => {
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      clusterQueue.requestTurn(a);
      clusterQueue.requestTurn(b);
      clusterQueue.markSettled(QUEUE, 'theirs');
      clusterQueue.removeEntry('team-a/a');
      expect(woken).to.deep.equal(['team-a/a', 'team-a/b']);
    });

    it('removes an entry that leaves before its turn', () => {
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      clusterQueue.requestTurn(a);
      clusterQueue.requestTurn(b);
      clusterQueue.removeEntry('team-a/a');
      clusterQueue.markSettled(QUEUE, 'theirs');
      expect(woken).to.deep.equal(['team-a/b']);
    });

    it('verifies a change that an entry observed which leaves: its object may have moved to another manager', () => {
      clusterQueue.markInFlight(QUEUE, 'team-a_a', 'being created', false, 'team-a/a');
      expect(clusterQueue.requestTurn(b)).to.include({ kind: 'wait', isUnverified: false });
      clusterQueue.removeEntry('team-a/c');
      expect(woken).to.deep.equal([]);
      clusterQueue.removeEntry('team-a/a');
      expect(woken).to.deep.equal(['team-a/b']);
      expect(clusterQueue.requestTurn(b)).to.include({ kind: 'wait', ahead: 'team-a_a', isUnverified: true });
    });

    it('verifies a change that EKS accepted from an entry which leaves', () => {
      expect(isGranted(a)).to.equal(true);
      clusterQueue.markAccepted(a, 'being created');
      clusterQueue.removeEntry('team-a/a');
      expect(clusterQueue.requestTurn(b)).to.include({ kind: 'wait', isUnverified: true });
    });

    it('believes a change that an entry observed whose wait ends: its object is still reconciled here', () => {
      clusterQueue.markInFlight(QUEUE, 'team-a_a', 'being created', false, 'team-a/a');
      expect(clusterQueue.requestTurn(b)).to.include({ kind: 'wait', isUnverified: false });
      clusterQueue.endWait('team-a/a');
      expect(woken).to.deep.equal([]);
      expect(clusterQueue.requestTurn(b)).to.include({ kind: 'wait', isUnverified: false });
    });

    it('ignores that an entry leaves which does not wait', () => {
      clusterQueue.requestTurn(a);
      clusterQueue.removeEntry('team-a/a');
      expect(isGranted(b), 'its turn is given back by release alone').to.equal(false);
    });
  });

  describe('when it is closed', () => {
    it('refuses the turn until its time has come', async () => {
      clusterQueue.close(QUEUE, 15_000, 'busy');
      expect(clusterQueue.requestTurn(a)).to.deep.equal({ kind: 'closed', until: 15_000, because: 'busy' });
      await clock.advance(14_999);
      expect(isGranted(a)).to.equal(false);
      await clock.advance(1);
      expect(isGranted(a)).to.equal(true);
    });

    it('stays closed when it is closed for a shorter time', () => {
      clusterQueue.close(QUEUE, 15_000, 'busy');
      clusterQueue.close(QUEUE, 1_000, 'busy');
      expect(clusterQueue.requestTurn(a)).to.deep.equal({ kind: 'closed', until: 15_000, because: 'busy' });
    });

    it('keeps the waiting entries', () => {
      clusterQueue.markInFlight(QUEUE, 'theirs', 'being deleted', true);
      clusterQueue.close(QUEUE, 15_000, 'busy');
      clusterQueue.requestTurn(a);
      clusterQueue.markSettled(QUEUE, 'theirs');
      expect(woken).to.deep.equal(['team-a/a']);
    });
  });
});
