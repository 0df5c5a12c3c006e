import { cpus } from 'node:os';
import { CALL_MS, type MeasuredPhase } from './bench-world.ts';
import { latenessOf } from './calls.ts';
import type { Figure } from './figures.ts';

/**
 * The highest acceptable load of the AWS emulator, in percent of one processor. A higher load of the emulator, which
 * has one thread, could slow the manager down.
 */
const EMULATOR_SHARE_PERCENT = 50;

/**
 * Returns the processor time of each process in a measurement, and figures that show whether the AWS emulator slowed
 * the manager down. The figure `Processors busy` includes programs that do not belong to the benchmark.
 */
export function costFigures({ seconds, calls, usage, costs }: MeasuredPhase, phase: string): readonly Figure[] {
  const { machine = 0, ...others } = costs;
  const used = Object.entries({ manager: usage.cpuSeconds, ...others });
  return [
    ...used.map(([name, value]) => ({ label: `Processor time, ${phase}: ${name}, s`, value, digits: 2 })),
    { label: `Processors busy, ${phase}, %`, value: (100 * machine) / (seconds * cpus().length) },
    {
      label: `Emulator, ${phase}: share of a processor, %`,
      value: (100 * (others['emulator'] ?? 0)) / seconds,
      aim: EMULATOR_SHARE_PERCENT,
    },
    { label: `Emulator, ${phase}: late by (p99), ms`, value: latenessOf(calls, CALL_MS) },
  ];
}
