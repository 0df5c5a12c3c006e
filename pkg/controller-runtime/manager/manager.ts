import type { Clock, Ms } from '../env/clock.ts';
import { aborted, untilAborted, withDeadline } from '../async/deadline.ts';
import type { Logger } from '../log/logger.ts';
import type { HealthCheck } from '../http/health.ts';
import { LeadershipLost, type LeaderElection } from '../election/leader-election.ts';
import { RunnableGroup, type Runnable } from './runnable.ts';

/** The default of controller-runtime, and of a pod's `terminationGracePeriodSeconds`, for all parts together. */
export const GRACE_PERIOD: Ms = 30_000;
/** How long recorded Events are still written after the loss of the lease or the end of the grace period. */
export const RECORDER_FLUSH_TIMEOUT: Ms = 2_000;

export type Part = 'recorder' | 'server' | 'cache' | 'controller';

export interface ManagerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** If undefined, this process leads from the start. */
  readonly election?: LeaderElection;
}

/**
 * Starts the parts of the process in order, as controller-runtime's manager does: recorders, servers, caches (until they
 * are synced), leader election, controllers. It stops them in reverse, and releases the lease after all but the recorders
 * have ended, because the release records an Event.
 */
export class Manager {
  private readonly options: ManagerOptions;
  /** Aborts with the failed part's error, or with {@link STOPPED}. */
  private readonly ending = new AbortController();
  /** Aborts when the lease is lost. The manager then waits only for the recorders. */
  private readonly leaseLost = new AbortController();
  private readonly groups: Readonly<Record<Part, RunnableGroup>>;
  private readonly lease: RunnableGroup;
  private phase: 'built' | 'running' | 'stopped' = 'built';

  constructor(options: ManagerOptions) {
    this.options = options;
    const { logger, election } = options;
    const fail = (error: unknown): void => this.ending.abort(error);
    const group = (): RunnableGroup => new RunnableGroup(logger, fail);
    this.groups = { recorder: group(), server: group(), cache: group(), controller: group() };
    this.lease = new RunnableGroup(logger, (error) => {
      const why = unwrapLeadershipLost(error);
      this.leaseLost.abort(why);
      fail(why);
    });
    if (election !== undefined) this.lease.add({ name: 'leader election', run: (signal) => election.hold(signal) });
  }

  add(part: Part, ...runnables: readonly Runnable[]): void {
    for (const runnable of runnables) {
      if (this.phase !== 'built') throw new Error(`${runnable.name} is added to a manager that already runs`);
      this.groups[part].add(runnable);
    }
  }

  /** Fails until all caches are synced, when a cache has been outdated for minutes, and when the manager stops. */
  readonly readyCheck: HealthCheck = {
    name: 'caches',
    check: () => {
      if (this.phase === 'stopped') return 'the manager is stopping';
      const missing = this.groups.cache.notStarted();
      if (missing.length > 0) return `waiting for ${missing.join(', ')}`;
      const outages = this.groups.cache.outages();
      return outages.length === 0 ? undefined : `outdated: ${outages.join(', ')}`;
    },
  };

  /**
   * Runs until `signal` aborts, then stops all parts. Throws when a part fails or returns early, the lease is lost, or
   * a part does not stop within the grace period. The process must then exit immediately.
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
    const { logger } = this.options;
    logger.error('Stopping after a failure', why);
    if (why instanceof LeadershipLost)
      logger.warn('Not waiting for what is under way', { parts: (await this.stopWithoutWaiting()).join(', ') });
    else await this.stop().catch((error: unknown) => logger.error('Failed to stop', error));
    throw why;
  }

  private async start(ending: AbortSignal): Promise<void> {
    const { recorder, server, cache, controller } = this.groups;
    for (const group of [recorder, server, cache]) await group.start(ending);
    await this.options.election?.acquire(ending);
    for (const group of [this.lease, controller]) await group.start(ending);
    this.options.logger.info('All parts of the manager run');
  }

  private async stop(): Promise<void> {
    const { clock, logger, election } = this.options;
    logger.info('Stopping and waiting for what is under way', { grace: `${GRACE_PERIOD}ms` });
    try {
      await withDeadline(clock, GRACE_PERIOD, this.leaseLost.signal, 'stopping', async () => {
        for (const group of this.workGroups) await group.stop();
        // From here on, another process may lead.
        await this.lease.stop();
        await election?.release();
        await this.groups.recorder.stop();
      });
    } catch (error) {
      throw new Error(`not waiting any longer for ${(await this.stopWithoutWaiting()).join(', ')}`, { cause: error });
    }
    logger.info('Stopped');
  }

  /** Returns the names of the parts that still run. The lease is not released, because they may still act as leader. */
  private async stopWithoutWaiting(): Promise<readonly string[]> {
    const left = this.workGroups.flatMap((group) => group.running());
    for (const group of [...this.workGroups, this.lease]) void group.stop();
    const flushed = withDeadline(this.options.clock, RECORDER_FLUSH_TIMEOUT, undefined, 'stopping the recorders', () =>
      this.groups.recorder.stop(),
    );
    await flushed.catch(() => {});
    return left;
  }

  /** All groups except the recorders and the leader election, in the order in which they stop. */
  private get workGroups(): readonly RunnableGroup[] {
    const { controller, cache, server } = this.groups;
    return [controller, cache, server];
  }
}

/** Returns the LeadershipLost without the error around it, which adds only the name of the part that threw. */
const unwrapLeadershipLost = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof LeadershipLost ? error.cause : error;

const STOPPED = new Error('the manager was told to stop');
