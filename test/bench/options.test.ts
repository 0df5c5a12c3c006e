import { expect } from 'chai';
import { readOptions } from './options.ts';

describe('the options of the benchmark', () => {
  it('run all parts but the longest once by default', () => {
    expect(readOptions({})).to.deep.equal({
      parts: ['burst', 'rest', 'large', 'fair', 'sizes'],
      runs: 1,
      scale: 1,
      nodeOptions: '',
      flags: [],
    });
  });

  it('select parts, in the order in which they run', () => {
    expect(readOptions({ BENCH: 'lives, burst' }).parts).to.deep.equal(['burst', 'lives']);
  });

  it('pass flags and another build on to the manager', () => {
    const env = { BENCH_FLAGS: ' --v=4  --sync-period=1m', BENCH_MANAGER: 'old.mjs', BENCH_NODE_OPTIONS: '--cpu-prof' };
    expect(readOptions(env)).to.include({ managerFile: 'old.mjs', nodeOptions: '--cpu-prof' });
    expect(readOptions(env).flags).to.deep.equal(['--v=4', '--sync-period=1m']);
  });

  for (const [what, env] of Object.entries({
    'an unknown part': { BENCH: 'burst,rust' },
    'no run': { BENCH_RUNS: '0' },
    'half a run': { BENCH_RUNS: '1.5' },
    'a scale that is no number': { BENCH_SCALE: 'x' },
    'more objects than there are': { BENCH_SCALE: '2' },
  }))
    it(`refuse ${what}`, () => {
      expect(() => readOptions(env)).to.throw('Environment:');
    });
});
