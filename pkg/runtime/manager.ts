import type { Clock, Ms } from '../env/clock.ts';
import { aborted, untilAborted, withDeadline } from '../env/deadline.ts';
import type { Logger } from '../env/logger.ts';
import type { HealthCheck } from './health.ts';
import { LeadershipLost } from './leader-election.ts';
import type { LeaderElection } from './leader-election.ts';
import { RunnableGroup } from './runnable-group.ts';
import type { Runnable } from './types.ts';

/** controller-runtime's default, and what a pod is given between SIGTERM and SIGKILL unless it says otherwise. */
const GRACE: Ms = 30_000;
/** What parts that others report to get after a failure, for what they were told last. */
const LAST_WORDS: Ms = 2_000;

export interface ManagerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent: this process leads from the start, and nobody checks. */
  readonly election?: LeaderElection;
  /** How long the parts may take to stop, in ms. */
  readonly grace?: Ms;
}

/**
 * Starts the parts of the process in order and stops them in reverse, as controller-runtime's manager does: recorders,
 * servers, caches until they are listed, parts that need no leadership, the lease, parts that need it. The lease is given
 * up when everything that it guards has ended; only recorders outlast it, since that is told, too.
 */
export class Manager {
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly election: LeaderElection | undefined;
  private readonly grace: Ms;
  /** Aborted when the process is to end: with the error that ended it, or with {@link STOPPED}. */
  private readonly ending = new AbortController();
  /** Aborted when the lease is lost: from then on nothing that works is waited for. */
  private readonly lost = new AbortController();
  private readonly recorders: RunnableGroup;
  private readonly servers: RunnableGroup;
  private readonly caches: RunnableGroup;
  private readonly free: RunnableGroup;
  private readonly elected: RunnableGroup;
  private readonly lease: RunnableGroup;
  private phase: 'built' | 'running' | 'stopped' = 'built';

  constructor(options: ManagerOptions) {
    const { clock, logger, election, grace = GRACE } = options;
    this.clock = clock;
    this.logger = logger;
    this.election = election;
    this.grace = grace;
    const fail = (error: unknown): void => this.ending.abort(error);
    const group = (): RunnableGroup => new RunnableGroup(logger, fail);
    this.recorders = group();
    this.servers = group();
    this.caches = group();
    this.free = group();
    this.elected = group();
    this.lease = new RunnableGroup(logger, (error) => {
      const why = lossIn(error);
      this.lost.abort(why);
      fail(why);
    });
    if (election !== undefined)
      this.lease.add({ name: 'leader election', needsLeadership: false, run: (signal) => election.hold(signal) });
  }

  /** Adds what all others report to: up before everything else, and down when nobody has anything to tell any more. */
  addRecorder(recorder: Runnable): void {
    this.add(recorder, this.recorders);
  }

  /** Adds what answers probes and scrapes: up before and down after all that works. */
  addServer(server: Runnable): void {
    this.add(server, this.servers);
  }

  /** Adds what others read from: they start when it has `started`. */
  addCache(cache: Runnable): void {
    this.add(cache, this.caches);
  }

  /** Adds what does the work. */
  addWorker(worker: Runnable): void {
    this.add(worker, worker.needsLeadership ? this.elected : this.free);
  }

  private add(runnable: Runnable, group: RunnableGroup): void {
    if (this.phase !== 'built') throw new Error(`${runnable.name} is added to a manager that already runs`);
    group.add(runnable);
  }

  /** For `/readyz`: fails, naming what is missing, until all caches are listed, and again when the process stops. */
  readonly readyCheck: HealthCheck = {
    name: 'caches',
    check: () => {
      if (this.phase === 'stopped') return 'the manager is stopping';
      const missing = this.caches.notStarted();
      return missing.length === 0 ? undefined : `waiting for ${missing.join(', ')}`;
    },
  };

  /**
   * Runs until `signal` aborts, then stops everything. Throws when a part fails or ends by itself, when the lease is
   * lost, or when something does not stop within the grace: the process must then end at once.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.phase !== 'built') throw new Error('a manager runs once');
    this.phase = 'running';
    const stop = (): void => this.ending.abort(STOPPED);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    try {
      await untilAborted(this.ending.signal, (ending) => this.start(ending));
      await aborted(this.ending.signal);
    } catch (error) {
      this.ending.abort(error);
    }
    signal.removeEventListener('abort', stop);
    this.phase = 'stopped';
    const why: unknown = this.ending.signal.reason;
    if (why === STOPPED) return this.stop();
    this.logger.error('Stopping after a failure', why);
    if (why instanceof LeadershipLost)
      this.logger.warn('Not waiting for what is under way', { parts: (await this.abandon()).join(', ') });
    else await this.stop().catch((error: unknown) => this.logger.error('Failed to stop', error));
    throw why;
  }

  private async start(ending: AbortSignal): Promise<void> {
    await this.recorders.start(ending);
    await this.servers.start(ending);
    await this.caches.start(ending);
    await this.free.start(ending);
    if (this.election !== undefined) {
      await this.election.acquire(ending);
      await this.lease.start(ending);
    }
    await this.elected.start(ending);
    this.logger.info('All parts of the manager run');
  }

  private async stop(): Promise<void> {
    const { clock } = this;
    this.logger.info('Stopping and waiting for what is under way', { grace: `${this.grace}ms` });
    try {
      await withDeadline(clock, this.grace, this.lost.signal, 'stopping', async () => {
        for (const group of this.working) await group.stop();
        // Nothing is left that the lease guards: from here on somebody else may lead.
        await this.lease.stop();
        await this.election?.release();
        await this.recorders.stop();
      });
    } catch (error) {
      throw new Error(`not waiting any longer for ${(await this.abandon()).join(', ')}`, { cause: error });
    }
    this.logger.info('Stopped');
  }

  /**
   * Tells everything to end, waits for no more than last words, and names what had not ended. The lease is not given up:
   * what has not stopped may still act. It expires when the process is gone.
   */
  private async abandon(): Promise<readonly string[]> {
    const left = this.working.flatMap((group) => group.running());
    for (const group of [...this.working, this.lease]) void group.stop();
    const told = withDeadline(this.clock, LAST_WORDS, undefined, 'the last words', () => this.recorders.stop());
    await told.catch(() => {});
    return left;
  }

  /** In the order in which it is stopped. */
  private get working(): readonly RunnableGroup[] {
    return [this.elected, this.free, this.caches, this.servers];
  }
}

/** A lost lease says all there is to say: in which part it was noticed does not matter. */
const lossIn = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof LeadershipLost ? error.cause : error;

/** Why the manager ends when it was told to. */
const STOPPED = new Error('the manager was told to stop');
