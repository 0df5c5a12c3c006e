import { expect } from 'chai';
import { MemoryLogger } from '../../../pkg/env/testing/memory-logger.ts';
import { systemClock, systemRandom } from '../../../pkg/env/system.ts';
import { aborted } from '../../../pkg/async/deadline.ts';
import { LeaderElection } from '../../../pkg/runtime/election/leader-election.ts';
import { LEASES, leaseSpecOf, type LeaseSpec } from '../../../pkg/runtime/election/lease.ts';
import { Manager } from '../../../pkg/runtime/manager.ts';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { acquireControlPlane } from '../../envtest/control-plane/pool.ts';
import { eventually } from '../../support/eventually.ts';
import { WITH_CRDS } from '../../world/world.ts';
import { connectThroughProxy, type Connected } from '../kube/connect.ts';

/** The Lease outlasts every test, so a second leader shows that the first one has released it. */
const TIMINGS = { leaseDuration: 3_600_000, renewDeadline: 1_800_000, retryPeriod: 300 };

/**
 * A participant of the leader election with its own connection to the API server. While it leads, it runs one worker,
 * which records that it leads.
 */
interface Contender {
  readonly connected: Connected;
  readonly election: LeaderElection;
  readonly stop: () => Promise<void>;
  leads: boolean;
  error: unknown;
}

describe('leader election with a real API server', () => {
  let controlPlane: ControlPlane;
  const contenders: Contender[] = [];

  before(async () => {
    controlPlane = await acquireControlPlane(WITH_CRDS);
  });
  afterEach(async () => {
    for (const { stop, connected } of contenders.splice(0)) {
      connected.proxy.restore();
      await stop();
      await connected.close();
    }
  });
  after(() => controlPlane.stop());

  async function addContender(name: string): Promise<Contender> {
    const connected = await connectThroughProxy(controlPlane);
    const logger = new MemoryLogger();
    const election = new LeaderElection({
      kube: connected.client,
      clock: systemClock,
      random: systemRandom,
      logger,
      lease: { namespace: 'default', name },
      hostname: `pod-${contenders.length}`,
      timings: TIMINGS,
    });
    const manager = new Manager({ clock: systemClock, logger, election });
    const stopping = new AbortController();
    manager.addWorker({
      name: 'controller',
      needsLeadership: true,
      run: async (signal) => {
        contender.leads = true;
        await aborted(signal);
        contender.leads = false;
      },
    });
    const ended = manager.run(stopping.signal).catch((error: unknown) => {
      contender.error = error;
    });
    const stop = async (): Promise<void> => {
      stopping.abort();
      await ended;
    };
    const contender: Contender = { connected, election, stop, leads: false, error: undefined };
    contenders.push(contender);
    return contender;
  }

  async function recordOf(name: string, { connected }: Contender): Promise<LeaseSpec> {
    const { signal } = new AbortController();
    const lease = await connected.client.get(LEASES, { namespace: 'default', name }, { signal });
    return lease === undefined ? expect.fail('there is no lease') : leaseSpecOf(lease);
  }

  it('is won by one manager, which renews the lease and releases it when it stops', async () => {
    const first = await addContender('handed-over');
    await eventually(() => first.leads, { what: 'the first one leads' });
    const before = await recordOf('handed-over', first);
    expect(before).to.include({
      holderIdentity: first.election.identity,
      leaseDurationSeconds: 3_600,
      leaseTransitions: 0,
    });
    expect(before.renewTime).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

    const second = await addContender('handed-over');
    await eventually(async () => (await recordOf('handed-over', first)).renewTime !== before.renewTime, {
      what: 'a renewal',
    });
    expect([first.leads, second.leads]).to.deep.equal([true, false]);

    await first.stop();
    expect(first.error).to.equal(undefined);
    await eventually(() => second.leads, { what: 'the second one leads' });
    expect(await recordOf('handed-over', second)).to.include({
      holderIdentity: second.election.identity,
      leaseTransitions: 1,
    });
  });

  it('survives cut connections', async () => {
    const only = await addContender('patient');
    await eventually(() => only.leads, { what: 'it leads' });
    for (let times = 0; times < 3; times++) {
      const { renewTime } = await recordOf('patient', only);
      only.connected.proxy.cut();
      await eventually(async () => (await recordOf('patient', only)).renewTime !== renewTime, { what: 'a renewal' });
    }
    expect(only.leads).to.equal(true);
    await only.stop();
    expect((await recordOf('patient', only)).holderIdentity).to.equal('');
  });
});
