import { setTimeout as delay } from 'node:timers/promises';
import type { RunningManager } from '../../../test/world/manager/manager.ts';
import { inBenchWorld, stopManager } from '../bench-world.ts';
import type { Column, Figure } from '../figures.ts';
import { usageOf } from '../manager-usage.ts';
import type { BenchOptions } from '../options.ts';
import { createAll, deleteAll, expectNothingLeft } from './lifecycle.ts';

const LIFECYCLE_MS = 200;
const LIMIT_MS = 120_000;
const LIVES_A_ROUND = 20;
const FIRST_LIVES = 200;
const ALL_LIVES = 5_000;
/** How long the manager stays idle before the benchmark measures its memory. */
const REST_MS = 20_000;
const GROWTH_MIB = 3;

/** Measures the memory of a manager after it has created and deleted 200 profiles, and again after 5,000 profiles. */
export async function measureLives(options: BenchOptions): Promise<readonly Column[]> {
  const all = Math.max(FIRST_LIVES + LIVES_A_ROUND, Math.round(ALL_LIVES * options.scale));
  return inBenchWorld('lives', { eks: { lifecycleMs: LIFECYCLE_MS }, options }, async (world) => {
    const profiles = await world.createClusters({ prefix: 'life', clusters: LIVES_A_ROUND, profilesEach: 1 });
    const manager = await world.startManager();
    const live = async (from: number, to: number): Promise<void> => {
      for (let lives = from; lives < to; lives += LIVES_A_ROUND) {
        await createAll(profiles, LIMIT_MS, `-${lives}`);
        await deleteAll(profiles, LIMIT_MS);
        await world.aws.clearCalls();
      }
    };
    await live(0, FIRST_LIVES);
    const first = await memoryFigures(manager);
    const { usage } = await world.measure(manager, () => live(FIRST_LIVES, all));
    const last = await memoryFigures(manager);
    await stopManager(manager);
    await expectNothingLeft(world);
    const growth = (last[0]?.value ?? 0) - (first[0]?.value ?? 0);
    return [
      { name: `After ${FIRST_LIVES} lives`, figures: first },
      {
        name: `After ${all} lives`,
        figures: [
          ...last,
          { label: '… more than before, MiB', value: growth, digits: 1, aim: GROWTH_MIB },
          {
            label: 'Manager: processor time a life, ms',
            value: (1000 * usage.cpuSeconds) / (all - FIRST_LIVES),
            digits: 1,
          },
        ],
      },
    ];
  });
}

async function memoryFigures(manager: RunningManager): Promise<readonly Figure[]> {
  await delay(REST_MS);
  const { memory } = await usageOf(manager);
  const heap = await manager.metric('nodejs_heap_size_used_bytes');
  return [
    { label: 'Memory of the manager, MiB', value: memory.nowMiB, digits: 1 },
    { label: 'Peak memory of the manager, MiB', value: memory.peakMiB, digits: 1 },
    { label: 'JavaScript heap in use, with garbage, MiB', value: heap / 2 ** 20, digits: 1 },
  ];
}
