import { setImmediate as turnOfTheLoop, setTimeout as delay } from 'node:timers/promises';
import type { RootHookObject } from 'mocha';

/** Milliseconds that closing sockets and exiting children get after the last test. */
const GRACE_MS = 2_000;
/** Milliseconds the reporter gets to print before a run that a handle keeps alive is ended. */
const LAST_WORDS_MS = 500;

/** Mocha hands a rejection on to the process and forgets it; thrown here, it fails the test that is running. */
function failOnUnhandled(reason: unknown): never {
  throw new Error(
    `A promise was rejected and nobody handled it: ${reason instanceof Error ? reason.message : String(reason)}`,
    {
      cause: reason,
    },
  );
}

function countByType(resources: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const resource of resources) counts.set(resource, (counts.get(resource) ?? 0) + 1);
  return counts;
}

/** What keeps the process alive now and did not before the tests, e.g. `2 × TCPSocketWrap`. */
function leftOpen(before: ReadonlyMap<string, number>): readonly string[] {
  const now = countByType(process.getActiveResourcesInfo());
  return [...now].flatMap(([type, count]) => {
    const more = count - (before.get(type) ?? 0);
    return more > 0 ? [`${more} × ${type}`] : [];
  });
}

async function stillOpenAfterGrace(before: ReadonlyMap<string, number>): Promise<readonly string[]> {
  const deadline = performance.now() + GRACE_MS;
  for (;;) {
    // What was closed in this turn of the event loop is still counted until the next.
    await turnOfTheLoop();
    const open = leftOpen(before);
    if (open.length === 0 || performance.now() >= deadline) return open;
    await delay(20);
  }
}

let before: ReadonlyMap<string, number> = new Map();

/** Root hooks of every run: nothing goes unhandled, and nothing that a test opened outlives the tests. */
export const mochaHooks: RootHookObject = {
  async beforeAll() {
    // For each file anew: with --parallel, this module is loaded once for all files of a worker, and mocha takes all
    // listeners off after each.
    process.off('unhandledRejection', failOnUnhandled).on('unhandledRejection', failOnUnhandled);
    // The standard streams are opened at first use and stay open: they belong to the process, not to a test.
    void process.stdout;
    void process.stderr;
    // From its first await on, mocha times a hook: that timer is counted here and below alike.
    await turnOfTheLoop();
    before = countByType(process.getActiveResourcesInfo());
  },
  async afterAll() {
    const open = await stillOpenAfterGrace(before);
    if (open.length === 0) return;
    // Mocha waits for the event loop to run empty, which it would not: the run ends here, with its failures.
    setTimeout(() => process.exit(), LAST_WORDS_MS).unref();
    throw new Error(
      `The tests are over, and something they opened is still there: ${open.join(', ')}. Close it in an after hook.`,
    );
  },
};
