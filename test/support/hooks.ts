import { Socket } from 'node:net';
import { setImmediate as nextEventLoopTurn, setTimeout as delay } from 'node:timers/promises';
import type { Context, RootHookObject } from 'mocha';
import { HANG_LIMIT_MS } from './hang-limit.ts';

/**
 * The time in which sockets must close and child processes must exit, after the last test of a test file. hooks.test.ts
 * sets a shorter time, because its test files leave handles open on purpose.
 */
const GRACE_MS = Number(process.env['OPEN_HANDLES_GRACE_MS'] ?? HANG_LIMIT_MS);
/**
 * If handles are open after the tests, this process exits after this delay, unless it is a worker of Mocha. In the
 * delay, Mocha's reporter prints its output.
 */
const REPORTER_MS = 500;
/** Whether this process is a worker of Mocha's option `--parallel`: Mocha sets MOCHA_WORKER_ID only in its workers. */
const IS_PARALLEL_WORKER = process.env['MOCHA_WORKER_ID'] !== undefined;

/** Mocha ignores an unhandled rejection of a promise. The error that this listener throws fails the running test. */
function failOnUnhandled(reason: unknown): never {
  throw new Error(`unhandled rejection: ${reason instanceof Error ? reason.message : String(reason)}`, {
    cause: reason,
  });
}

function countByType(resources: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const resource of resources) counts.set(resource, (counts.get(resource) ?? 0) + 1);
  return counts;
}

/** The resources that keep the process alive and were not open before the tests, e.g. `2 × TCPSocketWrap`. */
function openSince(before: ReadonlyMap<string, number>): readonly string[] {
  const now = countByType(process.getActiveResourcesInfo());
  return [...now].flatMap(([type, count]) => {
    const more = count - (before.get(type) ?? 0);
    return more > 0 ? [`${more} × ${type}`] : [];
  });
}

/** The open sockets of this process. */
function openSockets(): readonly Socket[] {
  // Node.js has a list of open handles, but only under a private name. If a later version of Node.js lacks the list,
  // the error message about open handles only lacks the sockets.
  const handles = (process as { _getActiveHandles?: () => readonly unknown[] })._getActiveHandles?.() ?? [];
  return handles.filter((handle) => handle instanceof Socket);
}

/**
 * Describes an open socket, e.g. `connection: 127.0.0.1:51234 → 127.0.0.1:6443`. The ports show which client or server
 * forgot to close it. For a socket without an address of the other side, the state shows whether it is being connected,
 * or whether the other side has reset it.
 */
function describeSocket(socket: Socket): string {
  const { localAddress, localPort, remoteAddress, remotePort, readyState, bytesRead, bytesWritten } = socket;
  if (remotePort !== undefined) return `connection: ${localAddress}:${localPort} → ${remoteAddress}:${remotePort}`;
  const listeners = socket.eventNames().map(String).join(' ');
  const state = [readyState, ...(socket.destroyed ? ['destroyed'] : []), ...(socket.isPaused() ? ['paused'] : [])].join(
    ' ',
  );
  return `${socket.constructor.name} of port ${localPort}: ${state}, ${bytesRead} B read, ${bytesWritten} B written, listeners ${listeners}`;
}

async function stillOpenAfterGrace(before: ReadonlyMap<string, number>): Promise<readonly string[]> {
  const deadline = performance.now() + GRACE_MS;
  for (;;) {
    // If a handle is closed in the current turn of the event loop, Node.js counts it as open until the next turn.
    await nextEventLoopTurn();
    const open = openSince(before);
    if (open.length === 0 || performance.now() >= deadline) return open;
    await delay(20);
  }
}

let before: ReadonlyMap<string, number> = new Map();
let socketsBefore: ReadonlySet<Socket> = new Set();

/**
 * The root hooks of Mocha for every test run. They fail the run after an unhandled rejection of a promise, or when a
 * handle is still open after the tests.
 */
export const mochaHooks: RootHookObject = {
  async beforeAll() {
    // With --parallel, a worker process of Mocha removes all listeners for unhandled rejections after each test file,
    // but loads this module only once. So this hook, which runs for each test file, adds the listener again.
    process.off('unhandledRejection', failOnUnhandled).on('unhandledRejection', failOnUnhandled);
    // stdout and stderr open when they are first used, and stay open. They belong to the process, not to a test, so
    // they must be open before the handles are counted.
    void process.stdout;
    void process.stderr;
    // After the first await in a hook, Mocha's timer for the hook counts as an open handle. Because of this await, both
    // `beforeAll` and `afterAll` count the timer.
    await nextEventLoopTurn();
    before = countByType(process.getActiveResourcesInfo());
    socketsBefore = new Set(openSockets());
  },
  async afterAll(this: Context) {
    const open = await stillOpenAfterGrace(before);
    if (open.length === 0) return;
    // The open handles keep the event loop running, so Mocha alone would not exit. In a parallel run, Mocha ends its
    // worker processes itself. If a worker exited on its own, the test file that it runs next would fail.
    if (!IS_PARALLEL_WORKER) setTimeout(() => process.exit(), REPORTER_MS).unref();
    const { suites = [], tests = [] } = this.test?.parent ?? {};
    const files = new Set([...suites, ...tests].map(({ file }) => file));
    throw new Error(
      [
        `handles are open after the tests: ${open.join(', ')}. Close them in an after hook.`,
        ...[...files].map((file) => `file: ${file}`),
        ...openSockets()
          .filter((socket) => !socketsBefore.has(socket))
          .map(describeSocket),
      ].join('\n'),
    );
  },
};
