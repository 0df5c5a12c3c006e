import { expect } from 'chai';
import type { Ms } from 'controller-runtime/env';
import type { CallRecord } from '../aws/call-log.ts';
import { MINUTE, SECOND } from './world/cluster.ts';
import { recordIn } from './world/records.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e'];

const isAbout = (name: string | undefined, { identifiers }: CallRecord): boolean =>
  identifiers['fargateProfileName'] === name;

/** Starts a manager, and has EKS take the given time for each of its creations and deletions. */
function start(span: Ms): SimulatedWorld {
  const world = new SimulatedWorld({ aws: { eks: { createMs: span, deleteMs: span }, latencyMs: [20, 20] } });
  world.start();
  return world;
}

describe('profiles that wait for other profiles of their EKS cluster', () => {
  it('are read from AWS when they become second, and when their turn comes', async () => {
    const world = start(4 * SECOND);
    world.apply(...NAMES);
    await world.ready(...NAMES);
    const calls = world.aws.admin.calls();
    const readsBeforeCreate = NAMES.map((name) => {
      const isCreate = (call: CallRecord): boolean =>
        call.operation === 'CreateFargateProfile' && isAbout(`default_${name}`, call);
      const isRead = ({ operation, identifiers }: CallRecord): boolean =>
        operation === 'GetRole' && identifiers['RoleName'] === `prod-default_${name}_fargate`;
      return calls.slice(0, calls.findIndex(isCreate)).filter(isRead).length;
    });
    expect(readsBeforeCreate).to.have.members([1, 2, 2, 2, 2]);
    await world.deleteAndFinish(...NAMES);
  });

  for (const span of [2 * SECOND, 20 * SECOND, 60 * SECOND])
    it(`begin at the first poll after EKS has finished the profile before, if EKS takes ${span / SECOND} s`, async () => {
      const names = NAMES.slice(0, 3);
      const world = start(span);
      world.apply(...names);
      await world.ready(...names);
      const created = pollsAndPauses(world, 'CreateFargateProfile', span);
      world.delete(...names);
      await world.gone(...names);
      const deleted = pollsAndPauses(world, 'DeleteFargateProfile', span);
      for (const { polls, pauses } of [created, deleted]) {
        expect(Math.max(...polls), `polls: ${polls.join(', ')}`).to.be.at.most(mostPolls(span));
        // The manager then has 200 ms to begin the next change.
        expect(Math.max(...pauses), `pauses: ${pauses.join(', ')}`).to.be.at.most(1.1 * pollAfter(span) + 200);
      }
      await world.finish();
    });

  it('are marked, also those far behind, because clusterctl move drops their deletion', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const world = new SimulatedWorld({ aws: { eks: { createMs: SECOND, deleteMs: MINUTE } } });
    await world.startWithReady(...names);
    world.delete(...names);
    const reasonOf = (name: string) => world.condition(name, 'Deleting')?.reason;
    await world.until('one is deleted, and the others wait', () =>
      names.every((name) => reasonOf(name) === (name === 'a' ? 'DeletingProfile' : 'WaitingForSibling')),
    );
    for (const name of names) expect(recordIn(world.profile(name)), name).to.include({ deleting: true });
    await world.gone(...names);
    await world.finish();
  });
});

const pollAfter = (waited: Ms): Ms => Math.min(Math.max(waited / 8, SECOND / 2), 5 * SECOND);

/**
 * How often the manager reads the profile that EKS is changing because of the next object in line: when that object
 * becomes second, and when its turn comes.
 */
const READS_OF_OTHERS = 2;

/** Returns how many polls the manager needs at most to see the end of a change, if each comes a tenth early. */
function mostPolls(span: Ms): number {
  let [waited, polls] = [0, 1 + READS_OF_OTHERS];
  for (; waited < span; waited += 0.9 * pollAfter(waited)) polls++;
  return polls;
}

/**
 * Returns the number of DescribeFargateProfile polls that follow each call of the given AWS operation, and the pauses
 * from the end of each creation or deletion in EKS to the beginning of the next one.
 */
function pollsAndPauses(
  world: SimulatedWorld,
  operation: string,
  span: Ms,
): { readonly polls: readonly number[]; readonly pauses: readonly Ms[] } {
  const calls = world.aws.admin.calls();
  const begun = calls.filter((call) => call.operation === operation);
  const isPollOf = (change: CallRecord, call: CallRecord): boolean =>
    call.operation === 'DescribeFargateProfile' &&
    isAbout(change.identifiers['fargateProfileName'], call) &&
    call.at > change.at &&
    call.at < change.at + 2 * span;
  return {
    polls: begun.map((change) => calls.filter((call) => isPollOf(change, call)).length),
    pauses: begun.slice(1).map((change, index) => (change.actedAt ?? 0) - (begun[index]?.actedAt ?? 0) - span),
  };
}
