import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { runWithDisturbances } from './disturbed-run.ts';

const PRINT_TRACE = fileURLToPath(new URL('print-trace.ts', import.meta.url));
/**
 * The largest output in bytes that the test accepts from the process that prints the trace of a simulation. A trace has
 * a few hundred kilobytes.
 */
const MOST_OUTPUT = 10_000_000;

const linesOf = (trace: string): readonly string[] => trace.split('\n');

describe('a simulation', () => {
  let trace: readonly string[] = [];

  before(async () => {
    trace = linesOf(await runWithDisturbances(1));
  });

  it('has the same trace for the same seed, and another trace for another seed', async () => {
    expect(linesOf(await runWithDisturbances(1))).to.deep.equal(trace);
    expect(linesOf(await runWithDisturbances(2))).not.to.deep.equal(trace);
  });

  it('has the same trace in a new process, and waits for nothing outside the simulation, not even in its first call', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [PRINT_TRACE, '1'], {
      maxBuffer: MOST_OUTPUT,
    });
    expect(stderr).to.equal('');
    expect(linesOf(stdout)).to.deep.equal(trace);
  });
});
