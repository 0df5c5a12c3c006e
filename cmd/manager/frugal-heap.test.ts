import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';

const MODULE = new URL('frugal-heap.ts', import.meta.url).href;

/** Allocates some 200 MB, keeps a little of it, and tells how large, in MiB, the young generation and the heap have become. */
const CHURN = `
  let kept = [];
  for (let i = 0; i < 300_000; i++) {
    kept.push(JSON.parse('{"a":[1,2,3,{"b":"c"}],"d":{"e":"f"}}'));
    if (kept.length > 20_000) kept = kept.slice(10_000);
  }
  const young = v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size;
  console.log(JSON.stringify([young, v8.getHeapStatistics().total_heap_size].map((bytes) => bytes / 2 ** 20)));
`;

/** Runs one function until every compiler that may have had its turn, and tells which ones have. */
const HEAT = `
  const sum = (upTo) => { let all = 0; for (let i = 0; i < upTo; i++) all += i % 7; return all; };
  const until = performance.now() + 2_000;
  while (performance.now() < until && (%GetOptimizationStatus(sum) & TURBOFANNED) === 0) sum(10_000);
  const status = %GetOptimizationStatus(sum);
  console.log(JSON.stringify([status & BASELINE, status & MAGLEVVED, status & TURBOFANNED].map((bit) => Math.sign(bit))));
`;
/** V8's OptimizationStatus (src/runtime/runtime.h). */
const BITS = 'const BASELINE = 1 << 15; const MAGLEVVED = 1 << 5; const TURBOFANNED = 1 << 6';

/** The same for WebAssembly, whose optimizing compiler is TurboFan too: a loop that sums up to its argument. */
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

describe('the heap of the manager', function () {
  this.timeout(20_000);

  it('stays small under load, where V8 would let it grow', async () => {
    const [young = 0, all = 0] = await afterChurning(`(await import('${MODULE}')).keepHeapSmall()`);
    const [youngAsIs = 0, allAsIs = 0] = await afterChurning('');
    expect(young).to.be.at.most(4);
    expect(youngAsIs).to.be.above(4 * young);
    expect(all).to.be.below(allAsIs / 2);
  });

  it('is spared the compilers that optimise, and only those', async () => {
    expect(await afterHeating(`(await import('${MODULE}')).keepHeapSmall()`)).to.deep.equal([1, 0, 0]);
    expect(await afterHeating(''), 'as V8 would have it').to.deep.equal([0, 0, 1]);
  });

  it('is spared TurboFan for WebAssembly too, of which HTTP has one large function', async () => {
    expect(await afterHeatingWasm(`(await import('${MODULE}')).keepHeapSmall()`)).to.deep.equal([1, 0]);
    expect(await afterHeatingWasm(''), 'as V8 would have it').to.deep.equal([0, 1]);
  });
});
