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

async function afterChurning(before: string): Promise<readonly number[]> {
  const code = `import v8 from 'node:v8'; ${before}; ${CHURN}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code]);
  return JSON.parse(stdout) as readonly number[];
}

describe('the heap of the manager', function () {
  this.timeout(20_000);

  it('stays small under load, where V8 would let it grow', async () => {
    const [young = 0, all = 0] = await afterChurning(`(await import('${MODULE}')).keepHeapSmall()`);
    const [youngAsIs = 0, allAsIs = 0] = await afterChurning('');
    expect(young).to.be.at.most(4);
    expect(youngAsIs).to.be.above(4 * young);
    expect(all).to.be.below(allAsIs / 2);
  });
});
