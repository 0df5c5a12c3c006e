import { expect } from 'chai';
import { LEASE } from '../testing/election.ts';
import { ManagerHarness } from '../testing/manager.ts';

describe('The manager', () => {
  let harness: ManagerHarness;
  beforeEach(() => (harness = new ManagerHarness()));

  it('starts each group when the previous one has started, and stops them in reverse', async () => {
    const { manager, clock, trace } = harness;
    const listed = Promise.withResolvers<void>();
    const listening = Promise.withResolvers<void>();
    manager.add('controller', harness.part('controller', { stops: 100 }));
    manager.add('recorder', harness.part('events', { stops: 100 }));
    manager.add('cache', harness.part('gadgets', { started: listed.promise, stops: 100 }));
    manager.add('cache', harness.part('widgets', { stops: 100 }));
    manager.add('server', harness.part('probes', { started: listening.promise, stops: 100 }));
    harness.run();
    await clock.settle();
    expect(trace).to.deep.equal(['+events', '+probes']);
    listening.resolve();
    await clock.settle();
    expect(trace.slice(2)).to.deep.equal(['+gadgets', '+widgets']);
    expect(harness.server.requests, 'no lease before the caches').to.deep.equal([]);
    listed.resolve();
    await clock.settle();
    expect(trace.slice(4)).to.deep.equal(['+controller']);
    expect(harness.holder()).to.equal(harness.election?.identity);

    await harness.stop();
    await clock.advance(299);
    expect(harness.holder(), 'the lease is held until all has stopped').to.equal(harness.election?.identity);
    await clock.advance(1);
    expect(trace.slice(5)).to.deep.equal(['-controller', '-gadgets', '-widgets', '-probes']);
    expect(harness.holder()).to.equal('');
    expect(harness.outcome, 'the release is recorded, too').to.equal('running');
    await clock.advance(100);
    expect(trace.slice(9)).to.deep.equal(['-events']);
    expect(harness.outcome).to.equal('ended');
    expect(clock.pendingTimers()).to.deep.equal([]);
  });

  it('starts controllers when it becomes leader', async () => {
    harness.server.storage.create(harness.server.kind('leases'), LEASE.namespace, {
      metadata: { name: LEASE.name },
      spec: { holderIdentity: 'pod-0', leaseDurationSeconds: 15 },
    });
    harness.manager.add('controller', harness.part('controller'));
    harness.manager.add('cache', harness.part('gadgets'));
    harness.run();
    await harness.clock.advance(14_000);
    expect(harness.trace).to.deep.equal(['+gadgets']);
    expect(harness.manager.readyCheck.check(), 'a standby is ready').to.equal(undefined);
    await harness.clock.advance(6_000);
    expect(harness.trace).to.deep.equal(['+gadgets', '+controller']);
    await harness.stop();
    expect(harness.outcome).to.equal('ended');
  });

  it('is ready when all caches are synced, names the missing ones, and is not ready when it stops', async () => {
    const { readyCheck } = harness.manager;
    const listed = Promise.withResolvers<void>();
    harness.manager.add('cache', harness.part('gadgets', { started: listed.promise }));
    let problem: string | undefined;
    const widgets = harness.part('widgets', { started: new Promise(() => {}) });
    harness.manager.add('cache', { ...widgets, currentProblem: () => problem });
    harness.manager.add('cache', harness.part('secrets'));
    expect(readyCheck.check()).to.equal('waiting for gadgets, widgets, secrets');
    harness.run();
    await harness.clock.settle();
    expect(readyCheck.check()).to.equal('waiting for gadgets, widgets');
    problem = 'they cannot be listed';
    expect(readyCheck.check()).to.equal('waiting for gadgets, widgets (they cannot be listed)');
    problem = undefined;
    listed.resolve();
    await harness.clock.settle();
    expect(readyCheck.check()).to.equal('waiting for widgets');
    await harness.stop();
    expect(readyCheck.check()).to.equal('the manager is stopping');
    expect(harness.outcome, 'a stop does not wait for caches').to.equal('ended');
  });

  it('is not ready while a started cache has an outage', async () => {
    const { readyCheck } = harness.manager;
    let outage: string | undefined;
    harness.manager.add('cache', { ...harness.part('widgets'), outage: () => outage });
    harness.manager.add('cache', harness.part('gadgets'));
    harness.run();
    await harness.clock.settle();
    expect(readyCheck.check()).to.equal(undefined);
    outage = 'no watch for 3 min: connect ECONNREFUSED';
    expect(readyCheck.check()).to.equal('outdated: widgets (no watch for 3 min: connect ECONNREFUSED)');
    outage = undefined;
    expect(readyCheck.check()).to.equal(undefined);
    await harness.stop();
  });

  it('runs once, and rejects parts that are added while it runs', async () => {
    harness.run();
    await harness.clock.settle();
    expect(() => harness.manager.add('controller', harness.part('late'))).to.throw(
      'late is added to a manager that already runs',
    );
    const again: unknown = await harness.manager.run(new AbortController().signal).catch(String);
    expect(again).to.equal('Error: a manager runs once');
    await harness.stop();
  });
});
