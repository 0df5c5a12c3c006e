import { setUp, writeDocument } from './document.ts';
import { run, type Measurement, type Scenario } from './run.ts';
import { callTable, summaryTable } from './table.ts';

const SCENARIOS: readonly Scenario[] = [
  { name: '1 × 1', clusters: 1, profilesEach: 1, lifecycleMs: 2_000 },
  { name: '1 × 1, practised', clusters: 1, profilesEach: 1, lifecycleMs: 2_000, isPractised: true },
  { name: '1 × 10', clusters: 1, profilesEach: 10, lifecycleMs: 2_000 },
  { name: '40 × 5', clusters: 40, profilesEach: 5, lifecycleMs: 2_000 },
  { name: '40 × 5, 20 s', clusters: 40, profilesEach: 5, lifecycleMs: 20_000 },
  { name: '40 × 5, 10 calls/s', clusters: 40, profilesEach: 5, lifecycleMs: 2_000, throttledTo: 10 },
];

const usage = `make bench: how fast, how frugal, how big. Environment:

  BENCH_RUNS=n            how often each scenario is run; the medians are shown (default 1)
  BENCH_ONLY=text         this scenario alone: ${SCENARIOS.map(({ name }) => `"${name}"`).join(', ')}
  BENCH_MANAGER=file      another build of the manager
  BENCH_NODE_OPTIONS=…    NODE_OPTIONS of the manager
  BENCH_FLAGS=…           more flags for the manager
  BENCH_WRITE=1           write the tables into docs/performance.md
`;

async function main(): Promise<void> {
  const { BENCH_RUNS = '1', BENCH_ONLY = '', BENCH_MANAGER, BENCH_NODE_OPTIONS = '', BENCH_FLAGS = '' } = process.env;
  const runs = Number(BENCH_RUNS);
  const scenarios = SCENARIOS.filter(({ name }) => BENCH_ONLY === '' || name === BENCH_ONLY);
  if (!Number.isInteger(runs) || runs < 1 || scenarios.length === 0) throw new Error(usage);
  const head = setUp(runs, BENCH_NODE_OPTIONS);
  process.stdout.write(`${head}\n\n`);
  const measured: Measurement[][] = [];
  for (const scenario of scenarios) {
    const results: Measurement[] = [];
    for (let number = 1; number <= runs; number += 1) {
      process.stderr.write(`${scenario.name}: run ${number} of ${runs}\n`);
      results.push(
        await run(scenario, {
          nodeOptions: BENCH_NODE_OPTIONS,
          flags: BENCH_FLAGS.split(' ').filter((flag) => flag !== ''),
          ...(BENCH_MANAGER !== undefined && { managerFile: BENCH_MANAGER }),
        }),
      );
      process.stderr.write(`${summaryTable([results.slice(-1)])}\n`);
    }
    measured.push(results);
  }
  const tables = `${summaryTable(measured)}\n\nAWS calls by operation and answer:\n\n${callTable(measured)}`;
  process.stdout.write(`${tables}\n`);
  const isToWrite = !['', '0'].includes(process.env['BENCH_WRITE'] ?? '');
  if (isToWrite) process.stdout.write(`\nWritten to ${await writeDocument(`${head}\n\n${tables}`)}\n`);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
