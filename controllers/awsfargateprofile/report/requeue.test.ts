import { expect } from 'chai';
import type { Requeue } from 'controller-runtime/controller';
import { VirtualClock } from 'controller-runtime/testing';
import { ProfileName } from '../../../api/names.ts';
import { MINUTE, SECOND } from '../reasons/delays.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { aProfile, asDesired } from '../testing/builders.ts';
import { observedReconcile } from '../testing/completed-reconcile.ts';
import { type Pending, requeueAfter } from './requeue.ts';

const OLD = ProfileName.of('team-a_old');
const DENIED = newReason('Refused', { detail: 'no' });
const REMOVING = newReason('RemovingPredecessor', { name: 'team-a_web', predecessor: OLD });
const KEPT = newReason('PredecessorKept', {
  name: 'team-a_web',
  predecessor: OLD,
  taker: undefined,
  until: 0,
  remaining: 30 * SECOND,
});
const DRAINING = newReason('Draining', {
  name: 'team-a_web',
  predecessor: OLD,
  since: 0,
  until: 0,
  remaining: 4 * MINUTE,
});

const BACKOFF: Pending = {
  waitedFor: () => 0,
  notBeforeFor: (reason) => (reason === DENIED ? 8 * MINUTE : undefined),
  isTransit: false,
};

/** Returns the requeue after a reconcile whose execution and plan have these notices. */
function requeued(executed: readonly Reason[], planned: readonly Reason[] = [], status?: string): Requeue {
  const reconcile = observedReconcile({ notices: executed });
  const { facts } = reconcile;
  if (facts === undefined) return expect.fail('no facts');
  const old = status === undefined ? [] : [aProfile({ name: OLD, status })];
  const after = { ...asDesired(), profiles: [...facts.after.profiles, ...old] };
  return requeueAfter(
    { ...reconcile, facts: { ...facts, after, plan: { ...facts.plan, notices: planned } } },
    BACKOFF,
    {
      clock: new VirtualClock(),
      random: { next: () => 0, uuid: () => '' },
      resync: 10 * MINUTE,
    },
  );
}

describe('requeueAfter', () => {
  for (const [what, executed, planned, status, delay, reason] of [
    ['the backoff of a refused change', [DENIED], [], undefined, 8 * MINUTE, 'Refused'],
    ['a drain despite a refused change', [DENIED, DRAINING], [REMOVING], 'ACTIVE', 10 * SECOND, 'Draining'],
    ['the end of the overlap despite a refused change', [DENIED], [KEPT], 'ACTIVE', 30 * SECOND, 'PredecessorKept'],
    ['a deletion despite a refused change', [DENIED], [REMOVING], 'DELETING', SECOND, 'RemovingPredecessor'],
    ['the end of a deletion', [DENIED], [REMOVING], undefined, SECOND, 'RemovingPredecessor'],
    ['the backoff of a refused deletion', [DENIED], [REMOVING], 'ACTIVE', 8 * MINUTE, 'Refused'],
  ] as const)
    it(`waits for ${what}`, () =>
      expect(requeued(executed, planned, status)).to.deep.equal({ kind: 'after', delay, reason, priority: 'low' }));

  it('waits for the resync if the object waits for nothing', () =>
    expect(requeued([])).to.deep.equal({ kind: 'after', delay: 10 * MINUTE, reason: 'resync', priority: 'low' }));
});
