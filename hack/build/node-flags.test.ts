import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { ASSIGNMENTS, NODE_FLAGS } from './node-flags.ts';

/**
 * Flags that make the garbage collector work at fixed sizes of the heap, on one thread. Without them, the size of the
 * heap also depends on the load of the machine.
 */
const STEADY_GC = ['--single-threaded-gc', '--no-incremental-marking'];

/**
 * A script that allocates some 400 MB, retains a tenth or less, and prints [greatest size of the young generation, greatest
 * size of the heap] in MiB.
 */
const CHURN = `
  import v8 from 'node:v8';
  let kept = [];
  let [young, heap] = [0, 0];
  for (let i = 0; i < 600_000; i++) {
    kept.push(JSON.parse('{"a":[1,2,3,{"b":"c"}],"d":{"e":"f"}}'));
    if (kept.length > 100_000) kept = kept.slice(50_000);
    if (i % 1_000 !== 0) continue;
    young = Math.max(young, v8.getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size);
    heap = Math.max(heap, v8.getHeapStatistics().total_heap_size);
  }
  console.log(JSON.stringify([young, heap].map((bytes) => bytes / 2 ** 20)));
`;

async function numbersOf(flags: readonly string[], code: string): Promise<readonly number[]> {
  const args = [...flags, '--input-type=module', '-e', code];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as readonly number[];
}

describe('the flags of Node.js', () => {
  it('keep young generation and heap small under load', async () => {
    const [young = 0, heap = 0] = await numbersOf([...NODE_FLAGS, ...STEADY_GC], CHURN);
    const [youngByDefault = 0, heapByDefault = 0] = await numbersOf(STEADY_GC, CHURN);
    // V8's young generation consists of three parts, each as large as a semi-space.
    expect(young).to.be.at.most(3 * 4);
    expect(youngByDefault).to.be.above(young);
    expect(heap).to.be.below(heapByDefault);
  });

  it('and the environment variables are those of the Containerfile', async () => {
    const containerfile = await readFile(new URL('../../Containerfile', import.meta.url), 'utf8');
    const [, entrypoint = ''] = /^ENTRYPOINT (.*)$/m.exec(containerfile) ?? [];
    expect(JSON.parse(entrypoint)).to.deep.equal(['/usr/bin/node', ...NODE_FLAGS, '/manager.mjs']);
    const [, environment = ''] = /^ENV (.*)$/m.exec(containerfile) ?? [];
    expect(environment.split(' ')).to.deep.equal(['PATH=/usr/bin', ...ASSIGNMENTS]);
  });
});
