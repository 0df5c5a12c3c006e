import { constants } from 'node:os';
import { demo, Interrupted } from './demo.ts';
import { Page } from './page.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** What shells add to a signal's number where a process ended by it. */
const SIGNAL_EXIT = 128;

const { ONCE: once = '' } = process.env;
const stop = new AbortController();
let exitCode = 0;
for (const name of SIGNALS) {
  process.on(name, () => {
    // Asked a second time, it goes at once; what it started is then ended from the outside.
    if (stop.signal.aborted) process.exit(SIGNAL_EXIT + constants.signals[name]);
    exitCode = SIGNAL_EXIT + constants.signals[name];
    stop.abort();
  });
}
// Whoever read along has gone, as `| head` does: nobody is left to show it to.
process.stdout.on('error', () => {
  exitCode = SIGNAL_EXIT + constants.signals.SIGPIPE;
  stop.abort();
});

try {
  await demo(new Page(process.stdout), { once: once !== '' && once !== '0', stop: stop.signal });
  process.exit(0);
} catch (error) {
  if (error instanceof Interrupted) {
    process.stderr.write('\nInterrupted.\n');
    process.exit(exitCode);
  }
  process.stderr.write(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
