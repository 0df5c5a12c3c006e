import { eventually } from '../../../test/support/eventually.ts';
import type { RunningManager } from '../../../test/world/manager/manager.ts';
import type { BenchWorld } from '../bench-world.ts';
import type { Figure } from '../figures.ts';

const LIMIT_MS = 120_000;
const INTERVAL_MS = 20;
const AIM_SECONDS = 8;

export interface StartedManager {
  readonly manager: RunningManager;
  readonly figures: readonly Figure[];
}

/**
 * Starts a manager, and measures three durations from the start of its process: until /readyz answers that the manager
 * knows all objects, until the manager holds the leader election Lease, and until its first AWS call.
 */
export async function measureStart(world: BenchWorld, flags: readonly string[] = []): Promise<StartedManager> {
  await world.aws.clearCalls();
  const [from, fromEpoch] = [performance.now(), Date.now()];
  const secondsUntil = async (what: string, isTrue: () => boolean | Promise<boolean>): Promise<number> => {
    await eventually(isTrue, { what, timeoutMs: LIMIT_MS, intervalMs: INTERVAL_MS });
    return (performance.now() - from) / 1000;
  };
  const manager = await world.startManager(flags, { waitUntilReady: false });
  const [known, leading] = await Promise.all([
    secondsUntil('the manager knowing all objects', async () => (await manager.readyz()).status === 200),
    secondsUntil('the manager leading', () => manager.log().includes('Acquired the lease')),
  ]);
  const firstCall = await eventually(async () => (await world.aws.calls())[0]?.at ?? false, {
    what: 'a first call of AWS',
    timeoutMs: LIMIT_MS,
  });
  const figure = (label: string, value: number): Figure => ({ label, value, digits: 2, aim: AIM_SECONDS });
  return {
    manager,
    figures: [
      figure('Started: all objects known after, s', known),
      figure('Started: leading after, s', leading),
      figure('Started: first call of AWS after, s', (firstCall - fromEpoch) / 1000),
    ],
  };
}
