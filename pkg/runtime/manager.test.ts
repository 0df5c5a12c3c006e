import { expect } from 'chai';
import type { Ms } from '../env/clock.ts';
import { aborted } from '../env/deadline.ts';
import { errorMessage } from '../env/error-text.ts';
import { MemoryLogger } from '../env/testing/memory-logger.ts';
import { SeededRandom } from '../env/testing/seeded-random.ts';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import { createKubeClient } from '../kube/client.ts';
import { FakeApiServer } from '../kube/testing/fake-api-server.ts';
import { LeaderElection } from './leader-election.ts';
import { leaseSpecOf } from './lease.ts';
import { Manager } from './manager.ts';
import type { Runnable } from './types.ts';

const LEASE = { namespace: 'capaf-system', name: 'controller-leader-election-capaf' };

interface PartOptions {
  readonly needsLeadership?: boolean;
  /** How long it takes to stop. */
  readonly stops?: Ms;
  readonly started?: Promise<void>;
}

class World {
  readonly clock = new VirtualClock();
  readonly logger = new MemoryLogger();
  readonly server = new FakeApiServer({ clock: this.clock, random: new SeededRandom(1) });
  readonly stopping = new AbortController();
  readonly trace: string[] = [];
  readonly manager: Manager;
  readonly election: LeaderElection | undefined;
  outcome: 'running' | 'ended' | { readonly error: unknown } = 'running';

  constructor(withElection = true) {
    const { clock, logger, server } = this;
    this.election = withElection
      ? new LeaderElection({
          kube: createKubeClient({ transport: server, clock }),
          clock,
          random: new SeededRandom(2),
          logger,
          lease: LEASE,
          hostname: 'pod-1',
        })
      : undefined;
    this.manager = new Manager({ clock, logger, ...(this.election === undefined ? {} : { election: this.election }) });
  }

  /** A part that notes when it starts and stops. */
  part(name: string, options: PartOptions = {}): Runnable {
    const { needsLeadership = false, stops = 0, started } = options;
    return {
      name,
      needsLeadership,
      run: async (signal) => {
        this.trace.push(`+${name}`);
        await aborted(signal);
        if (stops > 0) await new Promise<void>((resolve) => this.clock.after(stops, resolve));
        this.trace.push(`-${name}`);
      },
      ...(started === undefined ? {} : { started: () => started }),
    };
  }

  /** A part that does what `work` does. */
  doing(name: string, work: (signal: AbortSignal) => Promise<void>, needsLeadership = false): Runnable {
    return { name, needsLeadership, run: work };
  }

  run(): this {
    this.manager.run(this.stopping.signal).then(
      () => (this.outcome = 'ended'),
      (error: unknown) => (this.outcome = { error }),
    );
    return this;
  }

  get error(): string {
    return typeof this.outcome === 'object' ? errorMessage(this.outcome.error) : expect.fail(`it is ${this.outcome}`);
  }

  holder(): string | undefined {
    const lease = this.server.storage.get(this.server.kind('leases'), LEASE);
    return lease === undefined ? undefined : leaseSpecOf(lease).holderIdentity;
  }

  takeLease(): void {
    this.server.storage.mergePatch(this.server.kind('leases'), LEASE, { spec: { holderIdentity: 'pod-9' } });
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.clock.settle();
  }
}

describe('Manager', () => {
  it('starts in order, each stage when the one before has started, and stops in reverse', async () => {
    const world = new World();
    const { manager, clock, trace } = world;
    const listed = Promise.withResolvers<void>();
    const listening = Promise.withResolvers<void>();
    manager.addWorker(world.part('controller', { needsLeadership: true, stops: 100 }));
    manager.addWorker(world.part('webhooks', { stops: 100 }));
    manager.addRecorder(world.part('events', { stops: 100 }));
    manager.addCache(world.part('clusters', { started: listed.promise, stops: 100 }));
    manager.addCache(world.part('profiles', { stops: 100 }));
    manager.addServer(world.part('probes', { started: listening.promise, stops: 100 }));
    world.run();
    await clock.settle();
    expect(trace).to.deep.equal(['+events', '+probes']);
    listening.resolve();
    await clock.settle();
    expect(trace.slice(2)).to.deep.equal(['+clusters', '+profiles']);
    expect(world.server.requests, 'no lease before the caches').to.deep.equal([]);
    listed.resolve();
    await clock.settle();
    expect(trace.slice(4)).to.deep.equal(['+webhooks', '+controller']);
    expect(world.holder()).to.equal(world.election?.identity);

    await world.stop();
    await clock.advance(399);
    expect(world.holder(), 'the lease is held until all has stopped').to.equal(world.election?.identity);
    await clock.advance(1);
    expect(trace.slice(6)).to.deep.equal(['-controller', '-webhooks', '-clusters', '-profiles', '-probes']);
    expect(world.holder()).to.equal('');
    expect(world.outcome, 'its end is told, too').to.equal('running');
    await clock.advance(100);
    expect(trace.slice(11)).to.deep.equal(['-events']);
    expect(world.outcome).to.equal('ended');
    expect(clock.pendingTimers()).to.deep.equal([]);
  });

  it('starts what needs leadership only when it leads', async () => {
    const world = new World();
    world.server.storage.create(world.server.kind('leases'), LEASE.namespace, {
      metadata: { name: LEASE.name },
      spec: { holderIdentity: 'pod-0', leaseDurationSeconds: 15 },
    });
    world.manager.addWorker(world.part('controller', { needsLeadership: true }));
    world.manager.addWorker(world.part('events'));
    world.run();
    await world.clock.advance(14_000);
    expect(world.trace).to.deep.equal(['+events']);
    expect(world.manager.readyCheck.check(), 'a standby is ready').to.equal(undefined);
    await world.clock.advance(6_000);
    expect(world.trace).to.deep.equal(['+events', '+controller']);
    await world.stop();
    expect(world.outcome).to.equal('ended');
  });

  it('leads from the start without an election', async () => {
    const world = new World(false);
    world.manager.addWorker(world.part('controller', { needsLeadership: true }));
    world.run();
    await world.clock.settle();
    expect(world.trace).to.deep.equal(['+controller']);
    await world.stop();
    expect(world.outcome).to.equal('ended');
    expect(world.server.requests).to.deep.equal([]);
  });

  it('is ready when all caches have started, says what is missing, and is not ready when it stops', async () => {
    const world = new World();
    const { readyCheck } = world.manager;
    const listed = Promise.withResolvers<void>();
    world.manager.addCache(world.part('clusters', { started: listed.promise }));
    let hindrance: string | undefined;
    const profiles = world.part('profiles', { started: new Promise(() => {}) });
    world.manager.addCache({ ...profiles, hindrance: () => hindrance });
    world.manager.addCache(world.part('secrets'));
    expect(readyCheck.check()).to.equal('waiting for clusters, profiles, secrets');
    world.run();
    await world.clock.settle();
    expect(readyCheck.check()).to.equal('waiting for clusters, profiles');
    hindrance = 'they cannot be listed';
    expect(readyCheck.check()).to.equal('waiting for clusters, profiles (they cannot be listed)');
    hindrance = undefined;
    listed.resolve();
    await world.clock.settle();
    expect(readyCheck.check()).to.equal('waiting for profiles');
    await world.stop();
    expect(readyCheck.check()).to.equal('the manager is stopping');
    expect(world.outcome, 'a stop does not wait for caches').to.equal('ended');
  });

  it('stops while it waits for the lease', async () => {
    const world = new World();
    world.server.intercept = () => new Promise(() => {});
    world.manager.addServer(world.part('probes'));
    world.run();
    await world.clock.advance(1_000);
    world.server.intercept = () => undefined;
    await world.stop();
    expect(world.trace).to.deep.equal(['+probes', '-probes']);
    expect(world.outcome).to.equal('ended');
    expect(world.clock.pendingTimers()).to.deep.equal([]);
  });

  it('stops everything in order when a part fails, and says which', async () => {
    const world = new World();
    world.manager.addServer(world.part('probes'));
    world.manager.addCache(world.part('clusters'));
    const fails = async (): Promise<void> => {
      await new Promise<void>((resolve) => world.clock.after(1_000, resolve));
      throw new Error('out of memory');
    };
    world.manager.addWorker(world.doing('controller', fails, true));
    world.run();
    await world.clock.advance(1_000);
    expect(world.error).to.equal('running controller: out of memory');
    expect(world.trace).to.deep.equal(['+probes', '+clusters', '-clusters', '-probes']);
    expect(world.holder()).to.equal('');
    expect(world.clock.pendingTimers()).to.deep.equal([]);
  });

  it('takes a part that ends by itself for a failure', async () => {
    const world = new World();
    world.manager.addWorker(world.doing('controller', async () => {}, true));
    world.run();
    await world.clock.settle();
    expect(world.error).to.equal('controller ended before the manager was told to stop');
    expect(world.holder()).to.equal('');
  });

  it('ends with the error of a server that cannot listen, before anything else starts', async () => {
    const world = new World();
    const cannot = world.doing('probes', () => Promise.reject(new Error('the port is taken')));
    world.manager.addServer({ ...cannot, started: () => new Promise(() => {}) });
    world.manager.addCache(world.part('clusters'));
    world.run();
    await world.clock.settle();
    expect(world.error).to.equal('running probes: the port is taken');
    expect(world.trace).to.deep.equal([]);
  });

  it('ends at once when it loses the lease, whatever is still under way', async () => {
    const world = new World();
    world.manager.addWorker(world.part('controller', { needsLeadership: true, stops: 1_000_000 }));
    world.run();
    await world.clock.advance(1_000);
    world.takeLease();
    await world.clock.advance(1_000);
    expect(world.error).to.equal('leader election lost: the lease was taken by pod-9');
    expect(world.logger.said('Not waiting for what is under way').map(({ keys }) => keys)).to.deep.equal([
      { parts: 'controller' },
    ]);
    expect(world.election?.remaining()).to.equal(0);
    expect(world.holder()).to.equal('pod-9');
  });

  it('gives recorders two seconds for the last words of a failure', async () => {
    const world = new World();
    world.manager.addRecorder(world.part('events', { stops: 900 }));
    world.manager.addRecorder(world.part('stuck', { stops: 1_000_000 }));
    world.manager.addWorker(world.part('controller', { needsLeadership: true, stops: 1_000_000 }));
    world.run();
    await world.clock.advance(1_000);
    world.takeLease();
    await world.clock.advance(2_999);
    expect(world.trace).to.deep.equal(['+events', '+stuck', '+controller', '-events']);
    expect(world.outcome).to.equal('running');
    await world.clock.advance(1);
    expect(world.error).to.equal('leader election lost: the lease was taken by pod-9');
  });

  it('ends at once when it loses the lease while it stops', async () => {
    const world = new World();
    world.manager.addWorker(world.part('controller', { needsLeadership: true, stops: 25_000 }));
    world.run();
    await world.clock.advance(1_000);
    await world.stop();
    world.takeLease();
    await world.clock.advance(1_000);
    expect(world.error).to.contain('not waiting any longer for controller');
    expect(world.error).to.contain('the lease was taken by pod-9');
  });

  it('keeps the lease while a part takes long to stop', async () => {
    const world = new World();
    world.manager.addWorker(world.part('controller', { needsLeadership: true, stops: 25_000 }));
    world.run();
    await world.clock.advance(1_000);
    await world.stop();
    await world.clock.advance(24_000);
    expect(world.election?.remaining()).to.be.above(12_000);
    await world.clock.advance(1_000);
    expect(world.outcome).to.equal('ended');
    expect(world.holder()).to.equal('');
  });

  it('waits for no longer than the grace, names what does not stop, and keeps the lease from others', async () => {
    const world = new World();
    world.manager.addServer(world.part('probes'));
    world.manager.addWorker(world.part('controller', { needsLeadership: true, stops: 31_000 }));
    world.run();
    await world.clock.settle();
    await world.stop();
    await world.clock.advance(29_999);
    expect(world.outcome).to.equal('running');
    await world.clock.advance(1);
    expect(world.error).to.equal('not waiting any longer for controller, probes: stopping: no result within 30 s');
    expect(world.trace, 'the others are told to stop all the same').to.include('-probes');
    expect(world.holder()).to.equal(world.election?.identity);
    await world.clock.advance(1_000);
    expect(world.clock.pendingTimers(), 'nothing goes on').to.deep.equal([]);
  });

  it('starts nothing more for a cache that is listed when all is over', async () => {
    const world = new World();
    const listed = Promise.withResolvers<void>();
    world.manager.addCache(world.part('clusters', { started: listed.promise }));
    world.manager.addWorker(world.part('events'));
    world.run();
    await world.clock.settle();
    await world.stop();
    listed.resolve();
    await world.clock.advance(60_000);
    expect(world.trace).to.deep.equal(['+clusters', '-clusters']);
    expect(world.server.requests).to.deep.equal([]);
  });

  it('tells the log when a part fails while it stops', async () => {
    const world = new World(false);
    const fails = async (signal: AbortSignal): Promise<void> => {
      await aborted(signal);
      throw new Error('half way');
    };
    world.manager.addWorker(world.doing('events', fails));
    const throwsReason = async (signal: AbortSignal): Promise<void> => {
      await aborted(signal);
      throw signal.reason;
    };
    world.manager.addWorker(world.doing('controller', throwsReason));
    world.run();
    await world.clock.settle();
    await world.stop();
    expect(world.outcome).to.equal('ended');
    expect(world.logger.said('A part failed while it stopped').map(({ keys }) => keys)).to.deep.equal([
      { part: 'events', err: 'half way' },
    ]);
  });

  it('starts nothing when it is stopped before it runs', async () => {
    const world = new World();
    world.manager.addServer(world.part('probes'));
    world.stopping.abort();
    world.run();
    await world.clock.settle();
    expect([world.outcome, world.trace]).to.deep.equal(['ended', []]);
  });

  it('runs once, and takes no part when it runs', async () => {
    const world = new World().run();
    await world.clock.settle();
    expect(() => world.manager.addWorker(world.part('late'))).to.throw('late is added to a manager that already runs');
    const again: unknown = await world.manager.run(new AbortController().signal).catch(String);
    expect(again).to.equal('Error: a manager runs once');
    await world.stop();
  });
});
