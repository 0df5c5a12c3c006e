import { errorMessage } from '../text/error-text.ts';
import type { Ms } from '../env/clock.ts';
import type { Logger } from '../log/logger.ts';

/**
 * A long-lived part of the manager, like a Runnable of controller-runtime. If its `run` throws, or returns before the
 * signal has aborted, the manager stops.
 */
export interface Runnable {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /**
   * Resolves when others can use this part, e.g. when a cache is synced. Without this method, others can use the part
   * immediately.
   */
  started?(signal: AbortSignal): Promise<void>;
  /** The latest error that prevents this part from starting, in words for an operator. */
  currentProblem?(): string | undefined;
  /** Why this part has failed for minutes, in words for an operator. The manager is then not ready. */
  outage?(): string | undefined;
  /** How long this cache has been outdated. 0 while it is up to date or the API server does not serve the kind. */
  outdatedFor?(): Ms;
}

interface Member {
  readonly runnable: Runnable;
  phase: 'waiting' | 'starting' | 'started' | 'ended';
}

export class RunnableGroup {
  private readonly logger: Logger;
  private readonly onFailure: (error: unknown) => void;
  private readonly stopping = new AbortController();
  private readonly members: Member[] = [];
  private runs: readonly Promise<void>[] = [];

  /** `onFailure` is called for each part that throws or returns before `stop`. */
  constructor(logger: Logger, onFailure: (error: unknown) => void) {
    this.logger = logger;
    this.onFailure = onFailure;
  }

  add(runnable: Runnable): void {
    this.members.push({ runnable, phase: 'waiting' });
  }

  /** Resolves when all parts have started. Starts nothing after `stop`. */
  async start(signal: AbortSignal): Promise<void> {
    if (this.stopping.signal.aborted) return;
    this.runs = this.members.map((member) => this.supervise(member));
    await Promise.all(
      this.members.map(async (member) => {
        await member.runnable.started?.(signal);
        if (member.phase === 'starting') member.phase = 'started';
      }),
    );
  }

  /** Resolves when all parts have stopped. Never throws. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error('the manager stops'));
    await Promise.all(this.runs);
  }

  /** Returns the names of the parts that have not started, each with the {@link Runnable.currentProblem}, if any. */
  notStarted(): readonly string[] {
    return this.members
      .filter(({ phase }) => phase === 'waiting' || phase === 'starting')
      .map(({ runnable }) => {
        const problem = runnable.currentProblem?.();
        return problem === undefined ? runnable.name : `${runnable.name} (${problem})`;
      });
  }

  /** Returns the names of the started parts that have a {@link Runnable.outage}, each with this outage. */
  outages(): readonly string[] {
    return this.members.flatMap(({ phase, runnable }) => {
      const outage = phase === 'started' ? runnable.outage?.() : undefined;
      return outage === undefined ? [] : [`${runnable.name} (${outage})`];
    });
  }

  running(): readonly string[] {
    return this.members
      .filter(({ phase }) => phase === 'starting' || phase === 'started')
      .map(({ runnable }) => runnable.name);
  }

  private async supervise(member: Member): Promise<void> {
    const { name } = member.runnable;
    const { signal } = this.stopping;
    member.phase = 'starting';
    try {
      await member.runnable.run(signal);
      if (!signal.aborted) this.onFailure(new Error(`${name} ended before the manager was told to stop`));
    } catch (error) {
      // A part that stops may throw the reason of the abort signal, which is not a failure.
      if (!signal.aborted) this.onFailure(new Error(`running ${name}`, { cause: error }));
      else if (error !== signal.reason)
        this.logger.warn('A part failed while it stopped', { part: name, err: errorMessage(error) });
    } finally {
      member.phase = 'ended';
    }
  }
}
