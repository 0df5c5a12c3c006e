import { KernelWorld, SECOND } from './world.ts';

const NAMES = ['a', 'b', 'c'];

/**
 * As much of what can happen as fits into one run: two managers, failing calls and requests, a leader that loses its API server, one
 * that is killed. Returns the trace.
 */
export async function eventfulRun(seed: number): Promise<string> {
  const world = new KernelWorld({ seed, aws: { iam: { readAfterCreateMs: 2 * SECOND } } });
  for (const kind of ['500-after', 'throttle', 'reset', 'no-answer-after'] as const)
    for (let count = 0; count < 5; count++)
      world.aws.admin.addFault({ operation: '*', kind, nth: 1 + Math.floor(100 * world.random.next()) });
  world.api.intercept = () => (world.random.next() < 0.06 ? new Error('read ECONNRESET') : undefined);
  const first = world.start('--leader-elect');
  const second = world.start('--leader-elect');
  world.apply(...NAMES);
  await world.clock.advance(world.random.next() * 60 * SECOND);
  first.kubeLine.cut();
  await world.clock.advance(30 * SECOND);
  first.kubeLine.restore();
  world.start('--leader-elect');
  await world.ready(...NAMES);
  second.kill();
  world.delete(...NAMES);
  await world.gone(...NAMES);
  await world.finish();
  return world.trace();
}
