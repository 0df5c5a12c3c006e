import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';

const MODULE = new URL('v8-flags.ts', import.meta.url).href;

/**
 * A script that allocates some 200 MB, retains a small part, and prints [size of the young generation, size of the heap] in
 * MiB.
 */
const CHURN = `
  let kept = [];
  for (let i = 0; i < 300_000; i++) {
    kept.push(JSON.parse('{"a":[1,2,3,{"b":"c"}],"d":{"e":"f"}}'));
    if (kept.length > 20_000) kept = kept.slice(10_000);
  }
  const young = v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size;
  console.log(JSON.stringify([young, v8.getHeapStatistics().total_heap_size].map((bytes) => bytes / 2 ** 20)));
`;

/**
 * A script that runs a function until V8's TurboFan has compiled it, at most 2 s. The script prints three numbers, 0 or 1:
 * whether Sparkplug, Maglev and TurboFan have compiled the function.
 */
const HEAT = `
  const sum = (upTo) => { let all = 0; for (let i = 0; i < upTo; i++) all += i % 7; return all; };
  const until = performance.now() + 2_000;
  while (performance.now() < until && (%GetOptimizationStatus(sum) & TURBOFANNED) === 0) sum(10_000);
  const status = %GetOptimizationStatus(sum);
  console.log(JSON.stringify([status & BASELINE, status & MAGLEVVED, status & TURBOFANNED].map((bit) => Math.sign(bit))));
`;
/** Bits of V8's OptimizationStatus (src/runtime/runtime.h). */
const BITS = 'const BASELINE = 1 << 15; const MAGLEVVED = 1 << 5; const TURBOFANNED = 1 << 6';

/**
 * A script that runs a WebAssembly loop until V8's TurboFan has compiled it, at most 2 s. The script prints two numbers, 0
 * or 1: whether Liftoff and TurboFan have compiled the loop.
 */
const HEAT_WASM = `
  const head = '0061736d01000000' + '01060160017f017f' + '03020100' + '07050101660000';
  const body = '0a1b011901017f' + '0340200120006a2101200041016b22000d000b20010b';
  const { f } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(head + body, 'hex'))).exports;
  const until = performance.now() + 2_000;
  while (performance.now() < until && !%IsTurboFanFunction(f)) f(1_000_000);
  console.log(JSON.stringify([%IsLiftoffFunction(f), %IsTurboFanFunction(f)].map(Number)));
`;

async function numbersOf(code: string): Promise<readonly number[]> {
  const args = ['--allow-natives-syntax', '--input-type=module', '-e', code];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as readonly number[];
}

const afterChurning = (before: string): Promise<readonly number[]> =>
  numbersOf(`import v8 from 'node:v8'; ${before}; ${CHURN}`);
const afterHeatingWasm = (before: string): Promise<readonly number[]> => numbersOf(`${before}; ${HEAT_WASM}`);
const afterHeating = (before: string): Promise<readonly number[]> => numbersOf(`${before}; ${BITS}; ${HEAT}`);

describe('setV8Flags', function () {
  this.timeout(20_000);

  it('keeps young generation and heap small under load', async () => {
    const [young = 0, heap = 0] = await afterChurning(`(await import('${MODULE}')).setV8Flags()`);
    const [youngByDefault = 0, heapByDefault = 0] = await afterChurning('');
    expect(young).to.be.at.most(4);
    expect(youngByDefault).to.be.above(4 * young);
    expect(heap).to.be.below(heapByDefault / 2);
  });

  it('turns off Maglev and TurboFan, but not the baseline compiler', async () => {
    expect(await afterHeating(`(await import('${MODULE}')).setV8Flags()`)).to.deep.equal([1, 0, 0]);
    expect(await afterHeating(''), 'without setV8Flags').to.deep.equal([0, 0, 1]);
  });

  it('turns off TurboFan for WebAssembly', async () => {
    expect(await afterHeatingWasm(`(await import('${MODULE}')).setV8Flags()`)).to.deep.equal([1, 0]);
    expect(await afterHeatingWasm(''), 'without setV8Flags').to.deep.equal([0, 1]);
  });
});
