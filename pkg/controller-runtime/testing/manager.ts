import { expect } from 'chai';
import type { Ms } from '../env/clock.ts';
import { aborted } from '../async/deadline.ts';
import { errorMessage } from '../text/error-text.ts';
import { MemoryLogger } from './memory-logger.ts';
import { SeededRandom } from './seeded-random.ts';
import { VirtualClock } from './virtual-clock.ts';
import { createKubeClient } from '../client/client.ts';
import { FakeApiServer } from './fake-api-server.ts';
import { LeaderElection } from '../election/leader-election.ts';
import { leaseSpecOf } from '../election/lease.ts';
import { Manager } from '../manager/manager.ts';
import type { Runnable } from '../manager/runnable.ts';
import { LEASE } from './election.ts';

interface PartOptions {
  /** How long the part takes to stop. */
  readonly stops?: Ms;
  readonly started?: Promise<void>;
}

export class ManagerHarness {
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

  /** Returns a Runnable that records its start and its stop in `trace`. */
  part(name: string, options: PartOptions = {}): Runnable {
    const { stops = 0, started } = options;
    return {
      name,
      run: async (signal) => {
        this.trace.push(`+${name}`);
        await aborted(signal);
        if (stops > 0) await new Promise<void>((resolve) => this.clock.after(stops, resolve));
        this.trace.push(`-${name}`);
      },
      ...(started === undefined ? {} : { started: () => started }),
    };
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
