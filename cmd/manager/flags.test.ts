import { isLeft } from 'fp-ts/lib/Either.js';
import { expect } from 'chai';
import { parseFlags } from './flags.ts';
import type { ManagerFlags } from './flags.ts';

function flagsOf(...args: readonly string[]): ManagerFlags {
  const parsed = parseFlags(args);
  if (isLeft(parsed)) return expect.fail(parsed.left);
  return parsed.right.kind === 'run' ? parsed.right.flags : expect.fail(parsed.right.kind);
}

describe('parseFlags', () => {
  // A patch of a Deployment appends to its arguments.
  for (const [args, isElected] of [
    [[], false],
    [['--leader-elect'], true],
    [['--leader-elect=true'], true],
    [['--leader-elect=false'], false],
    [['--leader-elect', '--leader-elect=false'], false],
    [['--leader-elect=false', '--leader-elect'], true],
    [['--leader-elect=false', '--leader-elect=true'], true],
  ] as const)
    it(`the last word counts: ${args.join(' ') || 'nothing'}`, () => {
      expect(flagsOf(...args).election !== undefined).to.equal(isElected);
    });

  it('the last word counts also for values, and for what makes /metrics reachable', () => {
    expect(flagsOf('--sync-period=1m', '--sync-period', '2m').resync).to.equal(120_000);
    const open = ['--diagnostics-address=:8443', '--insecure-diagnostics'];
    expect(flagsOf(...open).diagnostics).to.deep.equal({ port: 8443 });
    expect(flagsOf(...open, '--insecure-diagnostics=false').diagnostics).to.deep.equal({
      host: '127.0.0.1',
      port: 8443,
    });
  });
});
