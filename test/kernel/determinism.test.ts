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
  let trace: readonly string[] = [];

  before(async () => {
    trace = linesOf(await eventfulRun(1));
  });

  it('gives the same trace for the same seed, and another for another', async () => {
    expect(linesOf(await eventfulRun(1))).to.deep.equal(trace);
    expect(linesOf(await eventfulRun(2))).not.to.deep.equal(trace);
  });

  it('gives it in a fresh process too, where nothing real is waited for, by the first call of all neither', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [PRINT_TRACE, '1'], {
      maxBuffer: MOST_OUTPUT,
    });
    expect(stderr).to.equal('');
    expect(linesOf(stdout)).to.deep.equal(trace);
  });
});
