// This script prints the trace of a simulation with the given seed. It runs in a new process, in which nothing is
// loaded or cached yet. On standard error it lists the files, sockets and real timers for which the run has waited. The
// list must be empty, because a simulation must not depend on anything outside the process.
import { createHook } from 'node:async_hooks';
import { runWithDisturbances } from './disturbed-run.ts';

/**
 * The types of async resources of Node.js that need nothing outside the process. RANDOMBYTESREQUEST comes from the AWS
 * SDK, which puts random invocation ids into request headers.
 */
const HARMLESS = ['PROMISE', 'TickObject', 'Microtask', 'Immediate', 'RANDOMBYTESREQUEST'];

const real = new Set<string>();
const hook = createHook({
  init: (_id, type) => {
    if (!HARMLESS.includes(type)) real.add(`${type}${new Error('is waited for').stack ?? ''}`);
  },
}).enable();
const trace = await runWithDisturbances(Number(process.argv[2]));
hook.disable();
process.stderr.write([...real].join('\n'));
process.stdout.write(trace);
