import { constants } from 'node:os';
import { runDemo, Interrupted } from './demo.ts';
import { Printer } from './output/printer.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** When a signal ends a process, a shell reports 128 plus the number of the signal as the exit code. */
const SIGNAL_EXIT = 128;

/**
 * Reports whether an environment variable of the Makefile is set. An undefined variable, an empty value, and the value
 * 0 count as not set.
 */
const isSet = (name: string): boolean => !['', '0'].includes(process.env[name] ?? '');
const subject = isSet('KEIKO') ? 'InstanceGroup' : 'AWSFargateProfile';
const mode = isSet('TEARDOWN') ? 'teardown' : isSet('ONCE') ? 'once' : 'stay';
const stop = new AbortController();
let exitCodeOfSignal = 0;
for (const name of SIGNALS) {
  process.on(name, () => {
    // A second signal ends the demo immediately. The watchdog process then stops the processes that the demo has
    // started.
    if (stop.signal.aborted) process.exit(SIGNAL_EXIT + constants.signals[name]);
    exitCodeOfSignal = SIGNAL_EXIT + constants.signals[name];
    stop.abort();
  });
}
// Writes to stdout fail when the reader of stdout has exited, for example `head` in `make demo | head`.
process.stdout.on('error', () => {
  exitCodeOfSignal = SIGNAL_EXIT + constants.signals.SIGPIPE;
  stop.abort();
});

/**
 * Exits as soon as stdout is flushed, because `process.exit` alone could lose output. The exit also ends work that is
 * still in progress after an interrupt.
 */
function exitWhenFlushed(exitCode: number): void {
  process.stdout.write('', () => process.exit(exitCode));
}

try {
  await runDemo(new Printer(process.stdout), { mode, subject, isReplaced: isSet('REPLACE'), stop: stop.signal });
  exitWhenFlushed(0);
} catch (error) {
  const isInterrupted = error instanceof Interrupted;
  const words = `The demo failed: ${error instanceof Error ? error.message : String(error)}`;
  process.stderr.write(`\n${isInterrupted ? 'Interrupted.' : words}\n`);
  exitWhenFlushed(isInterrupted ? exitCodeOfSignal : 1);
}
