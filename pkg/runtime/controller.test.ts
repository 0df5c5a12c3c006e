import { expect } from 'chai';
import { Registry } from 'prom-client';
import { MemoryLogger } from '../env/testing/memory-logger.ts';
import { SeededRandom } from '../env/testing/seeded-random.ts';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import { sleep } from '../env/deadline.ts';
import type { ObjectKey } from '../kube/types.ts';
import { Controller } from './controller.ts';
import { Metrics } from './metrics.ts';
import type { Reconcile, ReconcileContext, Requeue } from './types.ts';
import { Workqueue } from './workqueue.ts';

const key = (name: string): ObjectKey => ({ namespace: 'default', name });
const done: Requeue = { kind: 'done' };

/** A controller at work under the virtual clock. */
class World {
  readonly clock = new VirtualClock();
  readonly logger = new MemoryLogger();
  readonly registry = new Registry();
  readonly stopping = new AbortController();
  readonly queue: Workqueue;
  readonly running: Promise<void>;
  stopped = false;

  constructor(
    reconcile: (world: World) => Reconcile,
    concurrency = 1,
    beforeStart: (stopping: AbortController) => void = () => {},
  ) {
    const metrics = new Metrics(this.registry);
    this.queue = new Workqueue({ clock: this.clock, metrics: metrics.workqueue('awsfargateprofile') });
    const controller = new Controller({
      name: 'awsfargateprofile',
      object: { group: 'infrastructure.cluster.x-k8s.io', kind: 'AWSFargateProfile' },
      concurrency,
      queue: this.queue,
      reconcile: reconcile(this),
      clock: this.clock,
      random: new SeededRandom(1),
      logger: this.logger,
      metrics: metrics.controller('awsfargateprofile', concurrency),
    });
    beforeStart(this.stopping);
    this.running = controller.run(this.stopping.signal).then(() => void (this.stopped = true));
  }

  async metric(line: string): Promise<number> {
    const text = await this.registry.metrics();
    const found = text.split('\n').find((one) => one.startsWith(`${line} `));
    if (found === undefined) return expect.fail(`no ${line} in\n${text}`);
    return Number(found.slice(line.length + 1));
  }

  result(result: string): Promise<number> {
    return this.metric(`controller_runtime_reconcile_total{controller="awsfargateprofile",result="${result}"}`);
  }

  count(name: string): Promise<number> {
    return this.metric(`controller_runtime_${name}{controller="awsfargateprofile"}`);
  }

  async stop(): Promise<void> {
    this.stopping.abort(new Error('stop'));
    await this.running;
    expect(this.clock.pendingTimers()).to.deep.equal([]);
  }
}

/** Answers what `script` says, pass after pass, then `done`; notes when each pass was. */
function scripted(...script: readonly (Requeue | Error | (() => Requeue))[]): {
  readonly at: number[];
  readonly reconcile: (world: World) => Reconcile;
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

describe('Controller', () => {
  it('passes the key, and a logger that names it and the pass', async () => {
    const seen: { key: ObjectKey; context: ReconcileContext }[] = [];
    const world = new World(() => async (one, context) => {
      seen.push({ key: one, context });
      context.logger.info('Inside');
      return done;
    });
    world.queue.add(key('a'));
    world.queue.add(key('b'));
    await world.clock.settle();
    expect(seen.map((pass) => pass.key)).to.deep.equal([key('a'), key('b')]);
    const lines = world.logger.said('Inside').map(({ keys }) => keys);
    const ids = lines.map(({ reconcileID }) => reconcileID);
    expect(new Set(ids).size).to.equal(2);
    expect(lines[0]).to.deep.equal({
      controller: 'awsfargateprofile',
      controllerGroup: 'infrastructure.cluster.x-k8s.io',
      controllerKind: 'AWSFargateProfile',
      AWSFargateProfile: key('a'),
      namespace: 'default',
      name: 'a',
      reconcileID: ids[0],
    });
    await world.stop();
  });

  it('forgets a key that is done', async () => {
    const { at, reconcile } = scripted(new Error('first'), done, new Error('third'));
    const world = new World(reconcile);
    world.queue.add(key('a'));
    await world.clock.advance(10);
    world.queue.add(key('a'));
    await world.clock.advance(5);
    expect(at).to.deep.equal([0, 5, 10, 15]);
    expect(await world.result('success')).to.equal(2);
    await world.stop();
  });

  it('comes again after the time asked for, with the backoff forgotten', async () => {
    const { at, reconcile } = scripted(
      new Error('first'),
      { kind: 'after', delay: 30_000, why: 'creating' },
      new Error('third'),
    );
    const world = new World(reconcile);
    world.queue.add(key('a'));
    await world.clock.advance(60_000);
    expect(at).to.deep.equal([0, 5, 30_005, 30_010]);
    expect(await world.result('requeue_after')).to.equal(1);
    await world.stop();
  });

  for (const again of [{ kind: 'backoff', why: 'not listed yet' }, { kind: 'conflict' }] as const satisfies Requeue[])
    it(`backs off without counting an error: ${again.kind}`, async () => {
      const { at, reconcile } = scripted(again, again, again);
      const world = new World(reconcile);
      world.queue.add(key('a'));
      await world.clock.advance(1_000);
      expect(at).to.deep.equal([0, 5, 15, 35]);
      expect(await world.result('requeue')).to.equal(3);
      expect(await world.count('reconcile_errors_total')).to.equal(0);
      expect(world.logger.said('Reconciler error')).to.deep.equal([]);
      await world.stop();
    });

  it('counts and logs what is thrown and tries again with backoff', async () => {
    const problem = new Error('AWS said no');
    const { at, reconcile } = scripted(problem, problem);
    const world = new World(reconcile);
    world.queue.add(key('a'));
    await world.clock.advance(1_000);
    expect(at).to.deep.equal([0, 5, 15]);
    expect(await world.result('error')).to.equal(2);
    expect(await world.count('reconcile_errors_total')).to.equal(2);
    expect(await world.count('reconcile_panics_total')).to.equal(0);
    expect(world.logger.said('Reconciler error').map(({ error }) => error)).to.deep.equal([problem, problem]);
    await world.stop();
  });

  it('leaves a terminal error until the object changes', async () => {
    const { at, reconcile } = scripted({ kind: 'terminal', error: new Error('never') });
    const world = new World(reconcile);
    world.queue.add(key('a'));
    await world.clock.advance(3_600_000);
    expect(at).to.deep.equal([0]);
    expect(await world.count('terminal_reconcile_errors_total')).to.equal(1);
    expect(await world.count('reconcile_errors_total')).to.equal(1);
    expect(await world.result('error')).to.equal(1);
    world.queue.add(key('a'));
    await world.clock.settle();
    expect(at).to.have.length(2);
    await world.stop();
  });

  it('survives a panic, counts it and tries again', async () => {
    const { at, reconcile } = scripted(new TypeError('x is not a function'), () => ({
      kind: 'after',
      delay: NaN,
      why: 'a mistake in arithmetic',
    }));
    const world = new World(reconcile);
    world.queue.add(key('a'));
    await world.clock.advance(1_000);
    expect(at).to.deep.equal([0, 5, 15]);
    expect(await world.count('reconcile_panics_total')).to.equal(2);
    expect(await world.count('reconcile_errors_total')).to.equal(2);
    expect(world.logger.said('Observed a panic')).to.have.length(2);
    await world.stop();
  });

  it('survives a pass that throws before its first promise', async () => {
    const world = new World(() => () => {
      throw new Error('at once');
    });
    world.queue.add(key('a'));
    await world.clock.advance(20);
    expect(await world.count('reconcile_errors_total')).to.equal(3);
    await world.stop();
  });

  it('works on as many keys as it has workers, never on one key twice', async () => {
    let most = 0;
    const inWork: string[] = [];
    const world = new World(
      ({ clock }) =>
        async ({ name }, { signal }) => {
          expect(inWork).not.to.include(name);
          inWork.push(name);
          most = Math.max(most, inWork.length);
          await sleep(clock, 100, signal);
          inWork.splice(inWork.indexOf(name), 1);
          return done;
        },
      3,
    );
    for (const name of ['a', 'b', 'c', 'd', 'e']) world.queue.add(key(name));
    await world.clock.advance(50);
    expect(await world.count('active_workers')).to.equal(3);
    expect(await world.count('max_concurrent_reconciles')).to.equal(3);
    expect(await world.metric('workqueue_depth{name="awsfargateprofile",controller="awsfargateprofile"}')).to.equal(2);
    expect(
      await world.metric(
        'workqueue_longest_running_processor_seconds{name="awsfargateprofile",controller="awsfargateprofile"}',
      ),
    ).to.equal(0.05);
    world.queue.add(key('a'));
    await world.clock.advance(1_000);
    expect(most).to.equal(3);
    expect(await world.result('success')).to.equal(6);
    expect(await world.count('active_workers')).to.equal(0);
    await world.stop();
  });

  it('comes back first to the key that others wait for', async () => {
    const begun: string[] = [];
    const world = new World(({ clock }) => async ({ name }) => {
      begun.push(name);
      await sleep(clock, 100, new AbortController().signal);
      return begun.length > 1 ? done : { kind: 'after', delay: 20, why: 'polling', priority: 'high' };
    });
    world.queue.add(key('polled'));
    await world.clock.advance(50);
    for (const name of ['a', 'b', 'c']) world.queue.add(key(name));
    await world.clock.advance(500);
    expect(begun).to.deep.equal(['polled', 'a', 'polled', 'b', 'c']);
    await world.stop();
  });

  it('stops when the passes under way have returned, and begins no other', async () => {
    let begun = 0;
    const world = new World(({ clock }) => async () => {
      begun += 1;
      // A pass that does not listen: it is waited for.
      await sleep(clock, 100, new AbortController().signal);
      return { kind: 'after', delay: 5, why: 'polling' };
    });
    world.queue.add(key('a'));
    world.queue.add(key('b'));
    await world.clock.advance(50);
    world.stopping.abort(new Error('stop'));
    await world.clock.advance(49);
    expect(world.stopped).to.equal(false);
    await world.clock.advance(1);
    expect(world.stopped).to.equal(true);
    expect(begun).to.equal(1);
    expect(world.clock.pendingTimers()).to.deep.equal([]);
  });

  it('hands the stop to its passes and takes what they throw then for no error', async () => {
    const world = new World(({ clock }) => async (_key, { signal }) => {
      await sleep(clock, 100_000, signal);
      return done;
    });
    world.queue.add(key('a'));
    await world.clock.settle();
    await world.stop();
    expect(world.logger.lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
    expect(await world.count('reconcile_errors_total')).to.equal(0);
  });

  it('ends at once when it is stopped before it starts', async () => {
    const world = new World(
      () => async () => done,
      1,
      (stopping) => stopping.abort(),
    );
    await world.running;
  });

  it('refuses a number of workers that is none', () => {
    for (const concurrency of [0, -1, 1.5, NaN]) {
      const make = (): World => new World(() => async () => done, concurrency);
      expect(make, String(concurrency)).to.throw('the number of workers must be a positive whole number');
    }
  });
});
