import { expect } from 'chai';
import type { Ms } from '../../pkg/env/clock.ts';
import type { CallRecord } from '../aws/call-log.ts';
import { SECOND } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e'];

describe('profiles that wait for other profiles of their EKS cluster', () => {
  it('are read from AWS when they are created and when their turn comes, and not meanwhile', async () => {
    const world = new SimulatedWorld({
      aws: { eks: { createMs: 4 * SECOND, deleteMs: 4 * SECOND }, latencyMs: [20, 20] },
    });
    world.start();
    world.apply(...NAMES);
    await world.ready(...NAMES);
    const calls = world.aws.admin.calls().filter(({ operation }) => operation.endsWith('FargateProfile'));
    const readsBeforeCreate = NAMES.map((name) => {
      const about = calls.filter(({ identifiers }) => identifiers['fargateProfileName'] === `default_${name}`);
      return about.findIndex(({ operation }) => operation === 'CreateFargateProfile');
    });
    expect(readsBeforeCreate).to.have.members([1, 2, 2, 2, 2]);
    await world.deleteAndFinish(...NAMES);
  });

  it('begin soon after EKS has finished the profile before, with at most two polls for each change', async () => {
    const span = 4 * SECOND;
    const world = new SimulatedWorld({ aws: { eks: { createMs: span, deleteMs: span }, latencyMs: [20, 20] } });
    world.start();
    world.apply(...NAMES);
    await world.ready(...NAMES);
    const created = pollsAndPauses(world, 'CreateFargateProfile', span);
    world.delete(...NAMES);
    await world.gone(...NAMES);
    const deleted = pollsAndPauses(world, 'DeleteFargateProfile', span);
    for (const { polls, pauses } of [created, deleted]) {
      // The manager does not know yet how long EKS takes, so it polls the first creation or deletion more often.
      const others = polls.slice(1);
      expect(others.reduce((sum, each) => sum + each, 0) / others.length, `polls: ${polls.join(', ')}`).to.be.at.most(
        2,
      );
      // The manager's poll notices the end of a creation or deletion in EKS late by at most 1/32 of its duration. The
      // manager then has 100 ms to begin the next one.
      expect(Math.max(...pauses.slice(1)), `pauses: ${pauses.join(', ')}`).to.be.at.most(span / 32 + 100);
    }
    await world.finish();
  });
});

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
  const isAboutSame = (one: CallRecord, other: CallRecord): boolean =>
    one.identifiers['fargateProfileName'] === other.identifiers['fargateProfileName'];
  const isPollOf = (change: CallRecord, call: CallRecord): boolean =>
    call.operation === 'DescribeFargateProfile' &&
    isAboutSame(change, call) &&
    call.at > change.at &&
    call.at < change.at + 2 * span;
  return {
    polls: begun.map((change) => calls.filter((call) => isPollOf(change, call)).length),
    pauses: begun.slice(1).map((change, index) => (change.actedAt ?? 0) - (begun[index]?.actedAt ?? 0) - span),
  };
}
