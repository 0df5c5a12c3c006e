import { FAIRNESS, measureFairness, type FairnessMeasurement } from './fairness.ts';
import { describeSetup, writePerformanceDoc } from './performance-doc.ts';
import { measureScenario, type BenchOptions, type Measurement, type BenchScenario } from './run.ts';
import { callTable, fairnessTable, summaryTable } from './tables.ts';

const SCENARIOS: readonly BenchScenario[] = [
  { name: '1 × 1', clusters: 1, profilesEach: 1, lifecycleMs: 2_000 },
  { name: '1 × 1, warmed up', clusters: 1, profilesEach: 1, lifecycleMs: 2_000, isWarmedUp: true },
  { name: '1 × 10', clusters: 1, profilesEach: 10, lifecycleMs: 2_000 },
  { name: '40 × 5', clusters: 40, profilesEach: 5, lifecycleMs: 2_000 },
  { name: '40 × 5, 20 s', clusters: 40, profilesEach: 5, lifecycleMs: 20_000 },
  { name: '40 × 5, 10 calls/s', clusters: 40, profilesEach: 5, lifecycleMs: 2_000, throttledTo: 10 },
];

const usage = `make bench measures time, AWS calls, processor time and memory of the manager. Environment:

  BENCH_RUNS=n            runs of each scenario; the tables show medians (default 1)
  BENCH_ONLY=text         only this scenario: ${[...SCENARIOS.map(({ name }) => name), FAIRNESS].map((name) => `"${name}"`).join(', ')}
  BENCH_MANAGER=file      another build of the manager
  BENCH_NODE_OPTIONS=…    NODE_OPTIONS of the manager
  BENCH_FLAGS=…           more flags for the manager
  BENCH_WRITE=1           write the tables into docs/performance.md
`;

async function main(): Promise<void> {
  const { BENCH_RUNS = '1', BENCH_ONLY = '', BENCH_MANAGER, BENCH_NODE_OPTIONS = '', BENCH_FLAGS = '' } = process.env;
  const runs = Number(BENCH_RUNS);
  const scenarios = SCENARIOS.filter(({ name }) => BENCH_ONLY === '' || name === BENCH_ONLY);
  const fairnessRuns = BENCH_ONLY === '' || BENCH_ONLY === FAIRNESS ? runs : 0;
  const isNothing = scenarios.length === 0 && fairnessRuns === 0;
  if (!Number.isInteger(runs) || runs < 1 || isNothing) throw new Error(usage);
  const options: BenchOptions = {
    nodeOptions: BENCH_NODE_OPTIONS,
    flags: BENCH_FLAGS.split(' ').filter((flag) => flag !== ''),
    ...(BENCH_MANAGER !== undefined && { managerFile: BENCH_MANAGER }),
  };
  const head = describeSetup(runs, BENCH_NODE_OPTIONS);
  process.stdout.write(`${head}\n\n`);
  const measured: Measurement[][] = [];
  for (const scenario of scenarios) {
    const results: Measurement[] = [];
    for (let number = 1; number <= runs; number += 1) {
      process.stderr.write(`${scenario.name}: run ${number} of ${runs}\n`);
      results.push(await measureScenario(scenario, options));
      process.stderr.write(`${summaryTable([results.slice(-1)])}\n`);
    }
    measured.push(results);
  }
  const fairness: FairnessMeasurement[] = [];
  for (let number = 1; number <= fairnessRuns; number += 1) {
    process.stderr.write(`${FAIRNESS}: run ${number} of ${fairnessRuns}\n`);
    fairness.push(await measureFairness(options));
  }
  const parts = [
    ...(measured.length > 0 ? [summaryTable(measured), 'AWS calls by operation and answer:', callTable(measured)] : []),
    ...(fairness.length > 0
      ? ['A healthy profile beside 500 profiles in a region that does not answer:', fairnessTable(fairness)]
      : []),
  ];
  const tables = parts.join('\n\n');
  process.stdout.write(`${tables}\n`);
  const isToWrite = !['', '0'].includes(process.env['BENCH_WRITE'] ?? '');
  if (isToWrite) process.stdout.write(`\nWritten to ${await writePerformanceDoc(`${head}\n\n${tables}`)}\n`);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
