import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { REASONS } from '../../controllers/awsfargateprofile/reasons/reasons.ts';
import { explore, type Exploration } from './explore.ts';
import { REACHED, SCENARIOS, scenarioNamed } from './scenarios.ts';

// make verify: explores all scenarios, two at a time, each in a separate thread.

const { values: flags } = parseArgs({
  options: {
    scenario: { type: 'string', multiple: true },
    keep: { type: 'string' },
  },
});

const chosen = flags.scenario === undefined ? SCENARIOS : flags.scenario.map(scenarioNamed);
// The largest scenarios, which are the last in the list, start first.
const waiting = chosen.toReversed();
const results: (Exploration & { readonly seconds: number })[] = [];

function runNext(): Promise<void> {
  const scenario = waiting.shift();
  if (scenario === undefined) return Promise.resolve();
  const began = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<Exploration>();
  const worker = new Worker(new URL(import.meta.url), {
    workerData: scenario.name,
    resourceLimits: { maxOldGenerationSizeMb: 6_000 },
  });
  worker.on('message', resolve);
  worker.on('error', reject);
  return promise.then((result) => {
    const seconds = (performance.now() - began) / 1_000;
    results.push({ ...result, seconds });
    report(result, seconds, scenario.about);
    return runNext();
  });
}

function report(result: Exploration, seconds: number, about: string): void {
  const { name, states, transitions, diameter, isComplete, rests, broken } = result;
  console.log(`${name}: ${about}`);
  console.log(
    `  ${figure(states)} states, ${figure(transitions)} transitions, diameter ${diameter}, ${Math.round(seconds)} s${isComplete ? '' : ', not complete'}`,
  );
  const atRest = Object.entries(rests).map(([as, count]) => `${as} ${figure(count)}`);
  console.log(`  at rest: ${atRest.join(', ') || 'not checked'}`);
  if (broken === undefined) return;
  console.log(`  BROKEN: ${broken.what}`);
  for (const [index, line] of broken.story.entries()) console.log(`  ${String(index + 1).padStart(3)}. ${line}`);
  if (flags.keep === undefined) return;
  const lines = broken.story.map((line) => line.split(' · ')[0]);
  writeFileSync(new URL(`stories/${flags.keep}.txt`, import.meta.url), `${[name, ...lines].join('\n')}\n`);
}

const figure = (count: number): string => count.toLocaleString('en-US');
const sum = (of: (result: Exploration) => number): string =>
  figure(results.reduce((total, each) => total + of(each), 0));

if (isMainThread) {
  const began = performance.now();
  await Promise.all([runNext(), runNext()]);
  const reached = Object.keys(REASONS).filter((name) => results.some(({ reasons }) => reasons.includes(name)));
  console.log(
    `${results.length} scenarios: ${sum(({ states }) => states)} states, ${sum(({ transitions }) => transitions)} transitions, ${Math.round((performance.now() - began) / 1_000)} s with 2 threads on ${availableParallelism()} processors`,
  );
  console.log(`reasons reached: ${reached.length} of ${Object.keys(REASONS).length}: ${reached.join(', ')}`);
  const missed = chosen === SCENARIOS ? REACHED.filter((name) => !reached.includes(name)) : [];
  if (missed.length > 0) console.log(`NOT REACHED: ${missed.join(', ')}`);
  const isBroken = results.some(
    ({ name, broken, isComplete }) =>
      broken !== undefined || !(isComplete || scenarioNamed(name).mostTransitions !== undefined),
  );
  process.exitCode = isBroken || missed.length > 0 ? 1 : 0;
} else {
  parentPort?.postMessage(await explore(scenarioNamed(workerData as string)), []);
}
