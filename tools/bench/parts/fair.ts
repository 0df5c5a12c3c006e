import { setTimeout as delay } from 'node:timers/promises';
import { inBenchWorld } from '../bench-world.ts';
import type { Column } from '../figures.ts';
import type { BenchOptions } from '../options.ts';
import { costFigures } from '../phase-figures.ts';
import { scaled } from '../profiles.ts';
import { createAll, deleteAll } from './lifecycle.ts';

const LIFECYCLE_MS = 2_000;
const LIMIT_MS = 600_000;
/** The region whose AWS endpoints accept connections, but do not answer calls. */
const DEAD_REGION = 'ap-south-1';
const DEAD = { prefix: 'dead', region: DEAD_REGION, clusters: 100, profilesEach: 5 };
/**
 * How long the manager works on the profiles in a region in which AWS does not answer, before the benchmark creates the
 * measured profile.
 */
const FLOOD_MS = 15_000;

/**
 * Measures how long the creation of one profile takes alone, and while 500 other profiles wait for a region whose AWS
 * endpoints do not answer.
 */
export async function measureFairness(options: BenchOptions): Promise<readonly Column[]> {
  return inBenchWorld('fair', { eks: { lifecycleMs: LIFECYCLE_MS }, options }, async (world) => {
    const healthy = await world.createClusters({ prefix: 'healthy', clusters: 1, profilesEach: 1 });
    const dead = await world.createClusters({ ...DEAD, clusters: scaled(DEAD.clusters, options) });
    await world.aws.addFault({ kind: 'no-answer-before', operation: '*', region: DEAD_REGION });
    const manager = await world.startManager();
    // The manager creates and deletes a first profile without measurement, because the first one takes longer.
    await createAll(healthy, LIMIT_MS);
    await deleteAll(healthy, LIMIT_MS);
    const alone = await world.measure(manager, () => createAll(healthy, LIMIT_MS));
    await deleteAll(healthy, LIMIT_MS);
    await dead.createProfiles();
    await delay(FLOOD_MS);
    const beside = await world.measure(manager, () => createAll(healthy, LIMIT_MS));
    // The benchmark sends SIGKILL, because a manager that waits for unanswered AWS calls takes a long time to stop.
    await manager.stop('SIGKILL');
    const limit = LIFECYCLE_MS / 1000;
    return [
      { name: 'Alone', figures: figuresOf(alone.seconds, limit) },
      {
        name: `Beside ${dead.count}`,
        figures: [
          ...figuresOf(beside.seconds, limit),
          { label: '… over the time alone', value: beside.seconds / alone.seconds, digits: 2 },
          { label: 'Event loop delay (p99), ms', value: beside.usage.eventLoopDelayMs },
          ...costFigures(beside, 'meanwhile'),
        ],
      },
    ];
  });
}

const figuresOf = (seconds: number, limit: number): Column['figures'] => [
  { label: 'Ready after, s', value: seconds, digits: 2 },
  { label: '… over its serial limit', value: seconds / limit, digits: 2, aim: 1.2 },
];
