import { constants } from 'node:os';
import { demo, Interrupted } from './demo.ts';
import { Page } from './page.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** What shells add to a signal's number where a process ended by it. */
const SIGNAL_EXIT = 128;

/** As make hands it over: absent, empty and 0 mean no. */
const isSet = (name: string): boolean => !['', '0'].includes(process.env[name] ?? '');
const story = isSet('TEARDOWN') ? 'teardown' : isSet('ONCE') ? 'once' : 'stay';
const stop = new AbortController();
let exitCodeOfSignal = 0;
for (const name of SIGNALS) {
  process.on(name, () => {
    // Asked a second time, it goes at once; what it started is then ended from the outside.
    if (stop.signal.aborted) process.exit(SIGNAL_EXIT + constants.signals[name]);
    exitCodeOfSignal = SIGNAL_EXIT + constants.signals[name];
    stop.abort();
  });
}
// Whoever read along has gone, as `| head` does: nobody is left to show it to.
process.stdout.on('error', () => {
  exitCodeOfSignal = SIGNAL_EXIT + constants.signals.SIGPIPE;
  stop.abort();
});

/** Ends this process, whatever scene was left in the middle, after all that was printed has been handed over. */
function leave(exitCode: number): void {
  process.stdout.write('', () => process.exit(exitCode));
}

try {
  await demo(new Page(process.stdout), { story, stop: stop.signal });
  leave(0);
} catch (error) {
  const isInterrupted = error instanceof Interrupted;
  const words = `The demo failed: ${error instanceof Error ? error.message : String(error)}`;
  process.stderr.write(`\n${isInterrupted ? 'Interrupted.' : words}\n`);
  leave(isInterrupted ? exitCodeOfSignal : 1);
}
