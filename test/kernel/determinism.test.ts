import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { eventfulRun } from './eventful-run.ts';

const PRINT_TRACE = fileURLToPath(new URL('print-trace.ts', import.meta.url));
/** Bytes; a trace has some hundred kilobytes. */
const MOST_OUTPUT = 10_000_000;

const linesOf = (trace: string): readonly string[] => trace.split('\n');

describe('determinism', () => {
  it('gives the same trace for the same seed, and another for another', async () => {
    const [first, second, other] = [await eventfulRun(1), await eventfulRun(1), await eventfulRun(2)];
    expect(linesOf(second)).to.deep.equal(linesOf(first));
    expect(other).not.to.equal(first);
  });

  it('gives it in a fresh process too, where nothing real is waited for, by the first call of all neither', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [PRINT_TRACE, '3'], {
      maxBuffer: MOST_OUTPUT,
    });
    expect(stderr).to.equal('');
    expect(linesOf(stdout)).to.deep.equal(linesOf(await eventfulRun(3)));
  });
});
