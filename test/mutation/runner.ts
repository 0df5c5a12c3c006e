import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import Mocha from 'mocha';

// main.ts runs the tests on mutants in this process. The process ends together with main.ts.
process.on('disconnect', () => process.exit());

/** A run of a test file, or of its tests with the given full titles. At most one mutant is on. */
export interface Run {
  readonly file: string;
  readonly mutant?: number;
  readonly titles?: readonly string[];
}

export interface TestRun {
  readonly title: string;
  /** Processor time, which other programs do not change much. */
  readonly ms: number;
  /** The mutants that could have changed what the test did, or what the code of its file outside of tests did. */
  readonly seen: readonly number[];
}

export interface RunResult {
  /** The title of the first test that fails, or the error of code outside of tests. */
  readonly failed?: string | undefined;
  readonly tests: readonly TestRun[];
  readonly heapMB: number;
}

const sources = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Readonly<Record<string, string>>;
const ROOT = pathToFileURL(process.cwd()).href;
let mutant: number | undefined;
let seen = new Set<number>();
let loads = 0;
let strayError: string | undefined;

const processorMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const note = (id: number): number => {
  seen.add(id);
  return id;
};
Object.assign(globalThis, {
  $at: (id: number) => note(id) === mutant,
  $saw: (whenTrue: number, whenFalse: number, value: unknown) => {
    note(value ? whenFalse : whenTrue);
    return mutant === whenTrue ? true : mutant === whenFalse ? false : value;
  },
});

registerHooks({
  // A test file and its helpers are loaded again for each run, because some of them compute values of the product once.
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    const { search } = new URL(context.parentURL ?? 'file:///');
    const isHelper = /^\/(test|(?!node_modules\/).*\/testing)\//.test(found.url.replace(ROOT, ''));
    return isHelper ? { ...found, url: found.url + search } : found;
  },
  load: (url, context, next) => {
    const source = sources[url];
    return source === undefined ? next(url, context) : { format: 'module-typescript', source, shortCircuit: true };
  },
});

// fast-check does not shrink counterexamples, because main.ts does not print them.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1, endOnFailure: true });
process.on('unhandledRejection', (error) => (strayError ??= String(error)));
process.on('uncaughtException', (error) => (strayError ??= String(error)));

async function run({ file, mutant: wanted, titles }: Run): Promise<RunResult> {
  mutant = wanted;
  // By default, property tests next to the code run thousands of cases, but those of the simulation run only a few.
  if (file.startsWith('controllers/')) process.env['RUNS'] = '25';
  else delete process.env['RUNS'];
  strayError = undefined;
  const outside = (seen = new Set());
  const mocha = new Mocha({ timeout: 0, bail: true, reporter: 'dot' });
  mocha.suite.emit('pre-require', globalThis, file, mocha);
  let failed: string | undefined;
  loads += 1;
  await import(`${pathToFileURL(file).href}?load=${loads}`).catch((error: unknown) => (failed = String(error)));
  if (titles !== undefined) keepTests(mocha.suite, new Set(titles));
  const tests: TestRun[] = [];
  let began = 0;
  if (failed === undefined)
    await new Promise((resolve) =>
      mocha
        .run(resolve)
        .on('test', () => {
          [seen, began] = [new Set(), processorMs()];
        })
        .on('test end', (test) => {
          tests.push({ title: test.fullTitle(), ms: processorMs() - began, seen: [...seen] });
          seen = outside;
        })
        .on('fail', (test) => {
          failed ??= test.fullTitle();
        }),
    );
  const all = tests.map((test) => ({ ...test, seen: [...outside, ...test.seen] }));
  return { failed: failed ?? strayError, tests: all, heapMB: process.memoryUsage().heapUsed / 1e6 };
}

function keepTests(suite: Mocha.Suite, titles: ReadonlySet<string>): void {
  suite.tests = suite.tests.filter((test) => titles.has(test.fullTitle()));
  for (const each of suite.suites) keepTests(each, titles);
}

process.on('message', (message: Run) => void run(message).then((result) => process.send?.(result)));
