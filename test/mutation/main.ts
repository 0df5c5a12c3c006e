import { type ChildProcess, fork } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { API } from 'typescript/unstable/sync';
import { type Mutant, mutate } from './mutants.ts';
import type { Run, RunResult, TestRun } from './runner.ts';

// make mutants: changes the product in one place at a time, and lists the changes that no test detects
// (docs/verification.md).

const { values: flags } = parseArgs({
  options: {
    /** A regular expression for `file:line text`. */
    files: { type: 'string', default: '' },
    /** Tests one of this many mutants, e.g. with `10` every tenth mutant. The seed decides which. */
    sample: { type: 'string', default: '1' },
    seed: { type: 'string', default: '0' },
    /**
     * The maximum processor time per mutant for each of the last two stages, as measured without a mutant; 0 skips both
     * stages.
     */
    seconds: { type: 'string', default: '20' },
  },
});
const [sample, seed, seconds] = [Number(flags.sample), Number(flags.seed), Number(flags.seconds)];

const FOLDER = 'controllers/awsfargateprofile/';
const PRODUCT = [
  `${FOLDER}{desired,drain,goal,guards,model,plan,report}/**/*.ts`,
  `${FOLDER}{cluster-queue,execute,finish,managed-elsewhere,record-around-changes,unreadable,record-after-read}.ts`,
];
/**
 * Each mutant runs through the stages until a test fails. No stage contains test/simulation/determinism, because it
 * starts a process that has no mutants.
 */
const STAGES: Readonly<Record<string, readonly string[]>> = {
  beside: globSync(`${FOLDER}**/*.test.ts`),
  folder: globSync(`${FOLDER}**/*.test.ts`),
  simulation: seconds > 0 ? globSync('test/simulation/{*,teardown/*}.test.ts') : [],
  exploration: seconds > 0 ? ['test/model/explore.test.ts'] : [],
};
const COLUMNS = [...Object.keys(STAGES), 'hangs', 'explained', 'not noticed'];
const SOURCES = '.tmp/mutants.json';
/** A test run hangs if it takes longer than PATIENCE times its usual time, plus LEAST_MS. */
const [PATIENCE, LEAST_MS] = [20, 60_000];
/**
 * When its heap is larger, the process of the tests is replaced, because Node.js keeps each test file that it has
 * loaded.
 */
const MOST_HEAP_MB = 800;

function mutateProduct(): readonly Mutant[] {
  const api = new API({ cwd: process.cwd() });
  const project = api.updateSnapshot({ openProjects: ['tsconfig.json'] }).getProject(resolve('tsconfig.json'));
  const mutants: Mutant[] = [];
  const sources: Record<string, string> = {};
  for (const file of globSync(PRODUCT, { exclude: ['**/*.test.ts'] }).toSorted()) {
    const source = project?.program.getSourceFile(file);
    if (project === undefined || source === undefined) throw new Error(`TypeScript does not find ${file}`);
    const text = mutate(source, project.checker, file, (mutant) => mutants.push(mutant) - 1);
    sources[pathToFileURL(resolve(file)).href] = text;
  }
  api.close();
  mkdirSync('.tmp', { recursive: true });
  writeFileSync(SOURCES, JSON.stringify(sources));
  return mutants;
}

let child: ChildProcess | undefined;

function stop(): void {
  child?.kill('SIGKILL');
  child = undefined;
}

// A process in which a mutant hangs does not notice that this process has ended, so this process kills it.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    stop();
    process.exit(1);
  });

async function run(request: Run, usualMs: number): Promise<RunResult> {
  child ??= fork('test/mutation/runner.ts', [SOURCES], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const { promise, resolve: end } = Promise.withResolvers<RunResult>();
  const hanging: RunResult = { failed: 'hangs', tests: [], heapMB: Infinity };
  const timer = setTimeout(end, PATIENCE * usualMs + LEAST_MS, hanging);
  child
    .once('message', end)
    .once('exit', () => end(hanging))
    .send(request);
  const result = await promise;
  clearTimeout(timer);
  child.removeAllListeners();
  if (result.heapMB > MOST_HEAP_MB) stop();
  return result;
}

const usual = new Map<string, readonly TestRun[]>();

/** Runs a test file without mutants when it is first needed. */
async function testsIn(file: string): Promise<readonly TestRun[]> {
  const known = usual.get(file);
  if (known !== undefined) return known;
  const { failed, tests } = await run({ file }, 600_000);
  if (failed !== undefined) throw new Error(`${file} fails without a mutant: ${failed}`);
  usual.set(file, tests);
  return tests;
}

const msOf = (tests: readonly TestRun[]): number => tests.reduce((sum, { ms }) => sum + ms, 0);
/** How many mutants of a source file each test file has detected. The test files with the most detections run first. */
const notices = new Map<string, number>();

/** Returns the column of the table for a mutant, and how many tests ran. */
async function examine(id: number, { file }: Mutant): Promise<readonly [column: string, tests: number]> {
  let count = 0;
  for (const [stage, files] of Object.entries(STAGES)) {
    const beside = files.filter((test) => test.startsWith(file.replace(/ts$/, '')));
    const chosen: { readonly test: string; readonly tests: readonly TestRun[]; readonly rank: number }[] = [];
    for (const test of stage === 'beside' ? beside : files.filter((each) => !beside.includes(each))) {
      const tests = (await testsIn(test)).filter(({ seen }) => seen.includes(id)).toSorted((a, b) => a.ms - b.ms);
      if (tests.length > 0) chosen.push({ test, tests, rank: msOf(tests) / (1 + (notices.get(file + test) ?? 0)) });
    }
    let left = stage === 'simulation' || stage === 'exploration' ? seconds * 1_000 : Infinity;
    for (const { test, tests } of chosen.toSorted((a, b) => a.rank - b.rank)) {
      const affordable = tests.filter(({ ms }) => (left -= ms) > 0);
      if (affordable.length === 0) continue;
      count += affordable.length;
      const titles = affordable.map(({ title }) => title);
      const isNoticed = async (): Promise<string | undefined> =>
        (await run({ file: test, mutant: id, titles }, msOf(tests))).failed;
      let failed = await isNoticed();
      if (failed === 'hangs') return ['hangs', count];
      if (failed === undefined) continue;
      // Without the mutant, the test must pass in the same process. Otherwise the process still contains effects of an
      // earlier mutant.
      const failing = titles.includes(failed) ? [failed] : titles;
      if ((await run({ file: test, titles: failing }, msOf(tests))).failed !== undefined) {
        stop();
        failed = await isNoticed();
      }
      if (failed === undefined) continue;
      notices.set(file + test, 1 + (notices.get(file + test) ?? 0));
      return [stage, count];
    }
  }
  return ['not noticed', count];
}

const mutants = mutateProduct();
/** Shuffles the mutants, so that a run that is ended early has tested mutants of all files. */
const shuffled = (id: number): number => (id * 7_919) % mutants.length;
const only = new RegExp(flags.files);
const chosen = [...mutants.entries()]
  .filter(([id, { file, line, text }]) => id % sample === seed % sample && only.test(`${file}:${line} ${text}`))
  .toSorted(([a], [b]) => shuffled(a) - shuffled(b));
console.log(`${mutants.length} mutants, of which ${chosen.length} are tested`);
const listed = readFileSync('test/mutation/survivors.md', 'utf8');
const [explained = ''] = listed.split('\n## Open');
const table = new Map<string, number[]>();
for (const [index, [id, mutant]] of chosen.entries()) {
  const [verdict, tests] = await examine(id, mutant);
  const name = `${mutant.file.slice(FOLDER.length)} ${mutant.text}`;
  const column = verdict === 'not noticed' && explained.includes(name) ? 'explained' : verdict;
  if (column === 'not noticed') console.log(`line ${mutant.line}, ${tests} tests: ${name}`);
  if (column === 'not noticed' && !listed.includes(name)) process.exitCode = 1;
  for (const part of [mutant.file.slice(FOLDER.length).split('/')[0] ?? '', 'all']) {
    const row = table.get(part) ?? COLUMNS.map(() => 0);
    table.set(part, row.with(COLUMNS.indexOf(column), (row[COLUMNS.indexOf(column)] ?? 0) + 1));
  }
  if (index % 50 !== 49 && index !== chosen.length - 1) continue;
  console.log(['part', ...COLUMNS].join(' | '));
  for (const [part, row] of table) console.log([part, ...row].join(' | '));
  const [known = 0, unknown = 0] = table.get('all')?.slice(-2) ?? [];
  const noticed = 100 * (1 - (known + unknown) / (index + 1));
  console.log(`${index + 1} mutants, ${noticed.toFixed(1)} % noticed, ${Math.round(performance.now() / 60_000)} min`);
}
stop();
