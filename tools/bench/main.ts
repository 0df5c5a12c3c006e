import { mediansOf, type Column } from './figures.ts';
import { readOptions, type BenchOptions, type PartName } from './options.ts';
import { measureFairness } from './parts/fair.ts';
import { measureLarge } from './parts/large.ts';
import { measureLifecycle, type Lifecycle } from './parts/lifecycle.ts';
import { measureLives } from './parts/lives.ts';
import { measureRest } from './parts/rest.ts';
import { BURST, SIZES } from './parts/scenarios.ts';
import { describeSetup } from './setup.ts';
import { callTable, figureTable } from './tables.ts';

const MEASURE: Readonly<Record<PartName, (options: BenchOptions) => Promise<readonly Column[]>>> = {
  burst: measureLifecycles(BURST),
  rest: measureRest,
  large: measureLarge,
  fair: measureFairness,
  sizes: measureLifecycles(SIZES),
  lives: measureLives,
};

function measureLifecycles(lifecycles: readonly Lifecycle[]): (options: BenchOptions) => Promise<readonly Column[]> {
  return async (options) => {
    const columns: Column[] = [];
    for (const lifecycle of lifecycles) columns.push(await measureLifecycle(lifecycle, options));
    return columns;
  };
}

async function main(): Promise<void> {
  const options = readOptions(process.env);
  for (const part of options.parts) {
    process.stdout.write(`\n## ${part}\n\n${describeSetup(options)}\n\n`);
    const runs: (readonly Column[])[] = [];
    for (let number = 1; number <= options.runs; number += 1) {
      process.stderr.write(`${part}: run ${number} of ${options.runs}\n`);
      runs.push(await MEASURE[part](options));
      if (options.runs > 1) process.stderr.write(`${figureTable(runs.at(-1) ?? [])}\n`);
    }
    process.stdout.write(`${tablesOf(mediansOf(runs))}\n`);
  }
}

function tablesOf(columns: readonly Column[]): string {
  const figures = figureTable(columns);
  if (columns.every(({ calls }) => calls === undefined)) return figures;
  return `${figures}\n\nAWS calls by operation and answer, in the first run:\n\n${callTable(columns)}`;
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
