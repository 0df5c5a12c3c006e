// Prints the trace of a seed: for a run in a process of its own, in which nothing was loaded or looked up before. What
// the run waits for that is real (files, sockets, timers of the machine) is named on standard error.
import { createHook } from 'node:async_hooks';
import { eventfulRun } from './eventful-run.ts';

/** What passes by itself; random bytes are the invocation ids of the AWS SDK, headers and nothing else. */
const HARMLESS = ['PROMISE', 'TickObject', 'Microtask', 'Immediate', 'RANDOMBYTESREQUEST'];

const real = new Set<string>();
const hook = createHook({
  init: (_id, type) => {
    if (!HARMLESS.includes(type)) real.add(`${type}${new Error('is waited for').stack ?? ''}`);
  },
}).enable();
const trace = await eventfulRun(Number(process.argv[2]));
hook.disable();
process.stderr.write([...real].join('\n'));
process.stdout.write(trace);
