import { systemClock } from 'controller-runtime/env';
import { errorMessage, errorStack, escapeHidden } from 'controller-runtime/text';
import { type Io, readText } from './io.ts';
import { runCapaf } from './program.ts';

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(`received ${name}`)));

// The reader of a pipe, such as head, may exit first.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));

const io: Io = {
  clock: systemClock,
  env: process.env,
  signal: stop.signal,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isTerminal: process.stdout.isTTY,
  readStdin: () => readText(process.stdin.setEncoding('utf8')),
};

/** Names of errors whose messages are for users. Importing the classes would load the AWS and Kubernetes clients. */
const EXPECTED: readonly string[] = ['Failure', 'KubeconfigError', 'KubeError'];

async function main(): Promise<void> {
  try {
    process.exitCode = await runCapaf(process.argv.slice(2), io);
  } catch (thrown) {
    // After a signal, each aborted request fails with its own error, which does not help the user.
    const error: unknown = stop.signal.aborted ? stop.signal.reason : thrown;
    const isBug = error instanceof Error && !EXPECTED.includes(error.name) && !stop.signal.aborted;
    const text = (isBug ? errorStack(error) : undefined) ?? errorMessage(error);
    process.stderr.write(`capaf: ${escapeHidden(text)}\n`);
    process.exitCode = 1;
  }
}

// A single executable application of Node.js runs CommonJS, which has no top-level await.
void main();
