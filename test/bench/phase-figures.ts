import { cpus } from 'node:os';
import { CALL_MS, type Phase } from './bench-world.ts';
import { latenessOf } from './calls.ts';
import type { Figure } from './figures.ts';

/**
 * The largest part of a processor that the emulator, which has one thread, may use without slowing the manager down.
 */
const EMULATOR_SHARE_PERCENT = 50;

/**
 * Returns the figures of the processor time of all processes in a phase, and those that show whether the emulator
 * slowed the manager down. `machine` has everything that ran on the machine, also other programs.
 */
export function costFigures({ seconds, calls, usage, costs }: Phase, phase: string): readonly Figure[] {
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
