import { expect } from 'chai';
import { Registry } from 'prom-client';
import { MemoryLogger } from '../testing/memory-logger.ts';
import { SeededRandom } from '../testing/seeded-random.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { sleep } from '../async/deadline.ts';
import type { ObjectKey } from '../client/types.ts';
import { Metrics } from '../metrics/metrics.ts';
import { Controller, type Reconcile, type ReconcileContext, type Requeue } from './controller.ts';
import { Workqueue } from '../queue/workqueue.ts';

const key = (name: string): ObjectKey => ({ namespace: 'default', name });
const done: Requeue = { kind: 'done' };

/** The environments of a test, each of which is stopped after the test. */
const environments: World[] = [];

/** The environment of a test: a running controller on a virtual clock. */
class World {
  readonly clock = new VirtualClock();
  readonly logger = new MemoryLogger();
  readonly registry = new Registry();
  readonly stopping = new AbortController();
  readonly queue: Workqueue;
  readonly running: Promise<void>;
  stopped = false;

  constructor(reconcile: (environment: World) => Reconcile, concurrency = 1) {
    const metrics = new Metrics(this.registry);
    this.queue = new Workqueue({ clock: this.clock, metrics: metrics.workqueue('widget') });
    const controller = new Controller({
      name: 'widget',
      object: { group: 'example.org', kind: 'Widget' },
      concurrency,
      queue: this.queue,
      reconcile: reconcile(this),
      clock: this.clock,
      random: new SeededRandom(1),
      logger: this.logger,
      metrics: metrics.controller('widget'),
    });
    environments.push(this);
    this.running = controller.run(this.stopping.signal).then(() => void (this.stopped = true));
  }

  async metric(line: string): Promise<number> {
    const text = await this.registry.metrics();
    const found = text.split('\n').find((one) => one.startsWith(`${line} `));
    if (found === undefined) return expect.fail(`no ${line} in\n${text}`);
    return Number(found.slice(line.length + 1));
  }

  result(result: string): Promise<number> {
    return this.metric(`controller_runtime_reconcile_total{controller="widget",result="${result}"}`);
  }

  count(name: string): Promise<number> {
    return this.metric(`controller_runtime_${name}{controller="widget"}`);
  }

  async stop(): Promise<void> {
    this.stopping.abort(new Error('stop'));
    await this.running;
    expect(this.clock.pendingTimers()).to.deep.equal([]);
  }
}

/**
 * Returns a reconciler that returns or throws the results of `script` in order, then returns `done`. The reconciler
 * records the time of each call.
 */
function scripted(...script: readonly (Requeue | Error | (() => Requeue))[]): {
  readonly at: number[];
  readonly reconcile: (environment: World) => Reconcile;
} {
  const at: number[] = [];
  const reconcile =
    ({ clock }: World): Reconcile =>
    async () => {
      const next = script[at.length] ?? done;
      at.push(clock.monotonic());
      if (next instanceof Error) throw next;
      return typeof next === 'function' ? next() : next;
    };
  return { at, reconcile };
}

describe('The controller', () => {
  afterEach(() => Promise.all(environments.splice(0).map((environment) => environment.stop())));

  it('passes the key and a logger with the object and the reconcileID to the reconciler', async () => {
    const seen: { key: ObjectKey; context: ReconcileContext }[] = [];
    const environment = new World(() => async (one, context) => {
      seen.push({ key: one, context });
      context.logger.info('Inside');
      return done;
    });
    environment.queue.add(key('a'));
    environment.queue.add(key('b'));
    await environment.clock.advance(0);
    expect(seen.map((pass) => pass.key)).to.deep.equal([key('a'), key('b')]);
    const lines = environment.logger.linesWith('Inside').map(({ keys }) => keys);
    const ids = lines.map(({ reconcileID }) => reconcileID);
    expect(new Set(ids).size).to.equal(2);
    expect(lines[0]).to.deep.equal({
      controller: 'widget',
      controllerGroup: 'example.org',
      controllerKind: 'Widget',
      Widget: key('a'),
      namespace: 'default',
      name: 'a',
      reconcileID: ids[0],
    });
  });

  it('forgets a key that is done', async () => {
    const { at, reconcile } = scripted(new Error('first'), done, new Error('third'));
    const environment = new World(reconcile);
    environment.queue.add(key('a'));
    await environment.clock.advance(10);
    environment.queue.add(key('a'));
    await environment.clock.advance(5);
    expect(at).to.deep.equal([0, 5, 10, 15]);
    expect(await environment.result('success')).to.equal(2);
  });

  it('adds the key again after the requested delay and resets its backoff', async () => {
    const { at, reconcile } = scripted(
      new Error('first'),
      { kind: 'after', delay: 30_000, reason: 'creating' },
      new Error('third'),
    );
    const environment = new World(reconcile);
    environment.queue.add(key('a'));
    await environment.clock.advance(60_000);
    expect(at).to.deep.equal([0, 5, 30_005, 30_010]);
    expect(await environment.result('requeue_after')).to.equal(1);
  });

  for (const again of [
    { kind: 'backoff', reason: 'not listed yet' },
    { kind: 'conflict' },
  ] as const satisfies Requeue[])
    it(`requeues with backoff and without counting an error: ${again.kind}`, async () => {
      const { at, reconcile } = scripted(again, again, again);
      const environment = new World(reconcile);
      environment.queue.add(key('a'));
      await environment.clock.advance(1_000);
      expect(at).to.deep.equal([0, 5, 15, 35]);
      expect(await environment.result('requeue')).to.equal(3);
      expect(await environment.count('reconcile_errors_total')).to.equal(0);
      expect(environment.logger.linesWith('Reconciler error')).to.deep.equal([]);
    });

  it('counts and logs an error, and retries with backoff', async () => {
    const problem = new Error('the service said no');
    const { at, reconcile } = scripted(problem, problem);
    const environment = new World(reconcile);
    environment.queue.add(key('a'));
    await environment.clock.advance(1_000);
    expect(at).to.deep.equal([0, 5, 15]);
    expect(await environment.result('error')).to.equal(2);
    expect(await environment.count('reconcile_errors_total')).to.equal(2);
    expect(await environment.count('reconcile_panics_total')).to.equal(0);
    expect(environment.logger.linesWith('Reconciler error').map(({ error }) => error)).to.deep.equal([
      problem,
      problem,
    ]);
  });

  it('does not retry a terminal error until the object changes', async () => {
    const { at, reconcile } = scripted({ kind: 'terminal', error: new Error('never') });
    const environment = new World(reconcile);
    environment.queue.add(key('a'));
    await environment.clock.advance(3_600_000);
    expect(at).to.deep.equal([0]);
    expect(await environment.count('terminal_reconcile_errors_total')).to.equal(1);
    expect(await environment.count('reconcile_errors_total')).to.equal(1);
    expect(await environment.result('error')).to.equal(1);
    environment.queue.add(key('a'));
    await environment.clock.settle();
    expect(at).to.have.length(2);
  });

  it('counts a panic and retries with backoff', async () => {
    const { at, reconcile } = scripted(new TypeError('x is not a function'), () => ({
      kind: 'after',
      delay: NaN,
      reason: 'a mistake in arithmetic',
    }));
    const environment = new World(reconcile);
    environment.queue.add(key('a'));
    await environment.clock.advance(1_000);
    expect(at).to.deep.equal([0, 5, 15]);
    expect(await environment.count('reconcile_panics_total')).to.equal(2);
    expect(await environment.count('reconcile_errors_total')).to.equal(2);
    expect(environment.logger.linesWith('Observed a panic')).to.have.length(2);
  });

  it('reconciles as many keys at a time as it has workers', async () => {
    let most = 0;
    let inWork = 0;
    const environment = new World(
      ({ clock }) =>
        async (_key, { signal }) => {
          most = Math.max(most, (inWork += 1));
          await sleep(clock, 100, signal);
          inWork -= 1;
          return done;
        },
      3,
    );
    for (const name of ['a', 'b', 'c', 'd', 'e']) environment.queue.add(key(name));
    await environment.clock.advance(50);
    expect(await environment.count('active_workers')).to.equal(3);
    expect(await environment.count('max_concurrent_reconciles')).to.equal(3);
    expect(await environment.metric('workqueue_depth{name="widget",controller="widget"}')).to.equal(2);
    expect(
      await environment.metric('workqueue_longest_running_processor_seconds{name="widget",controller="widget"}'),
    ).to.equal(0.05);
    environment.queue.add(key('a'));
    await environment.clock.advance(1_000);
    expect(most).to.equal(3);
    expect(await environment.result('success')).to.equal(6);
    expect(await environment.count('active_workers')).to.equal(0);
  });

  it('reconciles a key with high priority first', async () => {
    const begun: string[] = [];
    const environment = new World(({ clock }) => async ({ name }) => {
      begun.push(name);
      await sleep(clock, 100, new AbortController().signal);
      return begun.length > 1 ? done : { kind: 'after', delay: 20, reason: 'polling', priority: 'urgent' };
    });
    environment.queue.add(key('polled'));
    await environment.clock.advance(50);
    for (const name of ['a', 'b', 'c']) environment.queue.add(key(name));
    await environment.clock.advance(500);
    expect(begun).to.deep.equal(['polled', 'a', 'polled', 'b', 'c']);
  });

  it('stops when the running reconciles have returned, and begins no other', async () => {
    let begun = 0;
    const environment = new World(({ clock }) => async () => {
      begun += 1;
      // The reconciler ignores its abort signal, so the controller has to wait for the reconciler.
      await sleep(clock, 100, new AbortController().signal);
      return { kind: 'after', delay: 5, reason: 'polling' };
    });
    environment.queue.add(key('a'));
    environment.queue.add(key('b'));
    await environment.clock.advance(50);
    environment.stopping.abort(new Error('stop'));
    await environment.clock.advance(49);
    expect(environment.stopped).to.equal(false);
    await environment.clock.advance(1);
    expect(environment.stopped).to.equal(true);
    expect(begun).to.equal(1);
    expect(environment.clock.pendingTimers()).to.deep.equal([]);
  });

  it('passes its signal to the reconcilers and does not count the errors of the abort', async () => {
    const environment = new World(({ clock }) => async (_key, { signal }) => {
      await sleep(clock, 100_000, signal);
      return done;
    });
    environment.queue.add(key('a'));
    await environment.clock.settle();
    await environment.stop();
    expect(environment.logger.lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
    expect(await environment.count('reconcile_errors_total')).to.equal(0);
  });

  it('ends at once when the signal has aborted before the start', async () => {
    const environment = new World(({ stopping }) => {
      stopping.abort();
      return async () => done;
    });
    await environment.running;
  });

  it('rejects a number of workers that is not a positive integer', () => {
    for (const concurrency of [0, -1, 1.5, NaN]) {
      const make = (): World => new World(() => async () => done, concurrency);
      expect(make, String(concurrency)).to.throw('the number of workers must be a positive whole number');
    }
  });
});
