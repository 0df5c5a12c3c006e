import { SimulatedWorld } from '../world/simulated-world.ts';
import { SECOND } from '../world/cluster.ts';

const NAMES = ['a', 'b', 'c'];

/**
 * Runs a simulation with many disturbances, and returns its trace: a text with all AWS calls and API server writes. The
 * disturbances are failing AWS calls and API server requests, a leader that cannot reach the API server, and a killed
 * manager.
 */
export async function runWithDisturbances(seed: number): Promise<string> {
  const world = new SimulatedWorld({ seed, aws: { iam: { readAfterCreateMs: 2 * SECOND } } });
  for (const kind of ['500-after', 'throttle', 'reset', 'no-answer-after'] as const)
    for (let count = 0; count < 5; count++)
      world.aws.admin.addFault({ operation: '*', kind, nth: 1 + Math.floor(100 * world.random.next()) });
  world.api.intercept = () => (world.random.next() < 0.06 ? new Error('read ECONNRESET') : undefined);
  const first = world.start('--leader-elect');
  const second = world.start('--leader-elect');
  world.apply(...NAMES);
  await world.clock.advance(world.random.next() * 60 * SECOND);
  first.kubeConnection.cut();
  await world.clock.advance(30 * SECOND);
  first.kubeConnection.restore();
  world.start('--leader-elect');
  await world.ready(...NAMES);
  second.kill();
  world.delete(...NAMES);
  await world.gone(...NAMES);
  await world.finish();
  return world.trace();
}
