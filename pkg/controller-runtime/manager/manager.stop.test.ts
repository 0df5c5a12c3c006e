import { expect } from 'chai';
import { aborted } from '../async/deadline.ts';
import { ManagerHarness } from '../testing/manager.ts';

describe('The manager at its end', () => {
  let harness: ManagerHarness;
  beforeEach(() => (harness = new ManagerHarness()));

  it('stops while it waits for the lease', async () => {
    harness.server.intercept = () => new Promise(() => {});
    harness.manager.add('server', harness.part('probes'));
    harness.run();
    await harness.clock.advance(1_000);
    harness.server.intercept = () => undefined;
    await harness.stop();
    expect(harness.trace).to.deep.equal(['+probes', '-probes']);
    expect(harness.outcome).to.equal('ended');
    expect(harness.clock.pendingTimers()).to.deep.equal([]);
  });

  it('stops all parts in order when a part fails, and names the part', async () => {
    harness.manager.add('server', harness.part('probes'));
    harness.manager.add('cache', harness.part('clusters'));
    const fails = async (): Promise<void> => {
      await new Promise<void>((resolve) => harness.clock.after(1_000, resolve));
      throw new Error('out of memory');
    };
    harness.manager.add('controller', { name: 'controller', run: fails });
    harness.run();
    await harness.clock.advance(1_000);
    expect(harness.error).to.equal('running controller: out of memory');
    expect(harness.trace).to.deep.equal(['+probes', '+clusters', '-clusters', '-probes']);
    expect(harness.holder()).to.equal('');
    expect(harness.clock.pendingTimers()).to.deep.equal([]);
  });

  it('fails when a part ends early', async () => {
    harness.manager.add('controller', { name: 'controller', run: async () => {} });
    harness.run();
    await harness.clock.settle();
    expect(harness.error).to.equal('controller ended before the manager was told to stop');
    expect(harness.holder()).to.equal('');
  });

  it('fails with the error of a server that cannot listen, before it starts other parts', async () => {
    const run = (): Promise<never> => Promise.reject(new Error('the port is taken'));
    harness.manager.add('server', { name: 'probes', run, started: () => new Promise(() => {}) });
    harness.manager.add('cache', harness.part('clusters'));
    harness.run();
    await harness.clock.settle();
    expect(harness.error).to.equal('running probes: the port is taken');
    expect(harness.trace).to.deep.equal([]);
  });

  it('ends at once when it loses the lease, without waiting for its parts', async () => {
    harness.manager.add('controller', harness.part('controller', { stops: 1_000_000 }));
    harness.run();
    await harness.clock.advance(1_000);
    harness.takeLease();
    await harness.clock.advance(1_000);
    expect(harness.error).to.equal('leader election lost: the lease was taken by pod-9');
    expect(harness.logger.linesWith('Not waiting for what is under way').map(({ keys }) => keys)).to.deep.equal([
      { parts: 'controller' },
    ]);
    expect(harness.election?.remaining()).to.equal(0);
    expect(harness.holder()).to.equal('pod-9');
  });

  it('gives recorders two seconds after a failure', async () => {
    harness.manager.add('recorder', harness.part('events', { stops: 900 }));
    harness.manager.add('recorder', harness.part('stuck', { stops: 1_000_000 }));
    harness.manager.add('controller', harness.part('controller', { stops: 1_000_000 }));
    harness.run();
    await harness.clock.advance(1_000);
    harness.takeLease();
    await harness.clock.advance(2_999);
    expect(harness.trace).to.deep.equal(['+events', '+stuck', '+controller', '-events']);
    expect(harness.outcome).to.equal('running');
    await harness.clock.advance(1);
    expect(harness.error).to.equal('leader election lost: the lease was taken by pod-9');
  });

  it('ends at once when it loses the lease during a stop', async () => {
    harness.manager.add('controller', harness.part('controller', { stops: 25_000 }));
    harness.run();
    await harness.clock.advance(1_000);
    await harness.stop();
    harness.takeLease();
    await harness.clock.advance(1_000);
    expect(harness.error).to.contain('not waiting any longer for controller');
    expect(harness.error).to.contain('the lease was taken by pod-9');
  });

  it('keeps the lease while a part takes long to stop', async () => {
    harness.manager.add('controller', harness.part('controller', { stops: 25_000 }));
    harness.run();
    await harness.clock.advance(1_000);
    await harness.stop();
    await harness.clock.advance(24_000);
    expect(harness.election?.remaining()).to.be.above(12_000);
    await harness.clock.advance(1_000);
    expect(harness.outcome).to.equal('ended');
    expect(harness.holder()).to.equal('');
  });

  it('waits for the grace period, names the parts that still run, and does not release the lease', async () => {
    harness.manager.add('server', harness.part('probes'));
    harness.manager.add('controller', harness.part('controller', { stops: 31_000 }));
    harness.run();
    await harness.clock.settle();
    await harness.stop();
    await harness.clock.advance(29_999);
    expect(harness.outcome).to.equal('running');
    await harness.clock.advance(1);
    expect(harness.error).to.equal('not waiting any longer for controller, probes: stopping: no result within 30 s');
    expect(harness.trace, 'the others are told to stop all the same').to.include('-probes');
    expect(harness.holder()).to.equal(harness.election?.identity);
    await harness.clock.advance(1_000);
    expect(harness.clock.pendingTimers(), 'nothing goes on').to.deep.equal([]);
  });

  it('starts no more parts when a cache is synced after the stop', async () => {
    const listed = Promise.withResolvers<void>();
    harness.manager.add('cache', harness.part('clusters', { started: listed.promise }));
    harness.manager.add('controller', harness.part('events'));
    harness.run();
    await harness.clock.settle();
    await harness.stop();
    listed.resolve();
    await harness.clock.advance(60_000);
    expect(harness.trace).to.deep.equal(['+clusters', '-clusters']);
    expect(harness.server.requests).to.deep.equal([]);
  });

  it('logs the error of a part that fails during a stop', async () => {
    harness = new ManagerHarness(false);
    const fails = async (signal: AbortSignal): Promise<void> => {
      await aborted(signal);
      throw new Error('half way');
    };
    harness.manager.add('controller', { name: 'events', run: fails });
    const throwsReason = async (signal: AbortSignal): Promise<void> => {
      await aborted(signal);
      throw signal.reason;
    };
    harness.manager.add('controller', { name: 'controller', run: throwsReason });
    harness.run();
    await harness.clock.settle();
    await harness.stop();
    expect(harness.outcome).to.equal('ended');
    expect(harness.logger.linesWith('A part failed while it stopped').map(({ keys }) => keys)).to.deep.equal([
      { part: 'events', err: 'half way' },
    ]);
  });

  it('starts nothing when the signal has aborted before', async () => {
    harness.manager.add('server', harness.part('probes'));
    harness.stopping.abort();
    harness.run();
    await harness.clock.settle();
    expect([harness.outcome, harness.trace]).to.deep.equal(['ended', []]);
  });
});
