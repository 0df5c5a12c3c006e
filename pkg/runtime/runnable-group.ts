import { errorMessage } from '../env/error-text.ts';
import type { Logger } from '../env/logger.ts';
import type { Runnable } from './runnable.ts';

interface Member {
  readonly runnable: Runnable;
  phase: 'waiting' | 'starting' | 'started' | 'ended';
}

/** A group of parts of the manager that are started together and stopped together. */
export class RunnableGroup {
  private readonly logger: Logger;
  private readonly onFailure: (error: unknown) => void;
  private readonly stopping = new AbortController();
  private readonly members: Member[] = [];
  private runs: readonly Promise<void>[] = [];

  /**
   * The function `onFailure` is called for each part of the group that throws or returns before `stop` is called.
   */
  constructor(logger: Logger, onFailure: (error: unknown) => void) {
    this.logger = logger;
    this.onFailure = onFailure;
  }

  add(runnable: Runnable): void {
    this.members.push({ runnable, phase: 'waiting' });
  }

  /**
   * Starts every part of the group and resolves when all parts have started. Starts nothing after `stop`. Throws the
   * signal's reason when the signal aborts while a part starts.
   */
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

  /** Stops every part of the group and resolves when all parts have stopped. Never throws. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error('the manager stops'));
    await Promise.all(this.runs);
  }

  /**
   * Returns the names of the parts that have not started yet, each with its {@link Runnable.currentProblem} if it
   * has one.
   */
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

  /** Returns the names of the parts that were started and have not ended. */
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
      // When the manager stops, a part may throw the reason of the abort signal, which is no failure. Any other error
      // of a stopping part is logged.
      if (!signal.aborted) this.onFailure(new Error(`running ${name}`, { cause: error }));
      else if (error !== signal.reason)
        this.logger.warn('A part failed while it stopped', { part: name, err: errorMessage(error) });
    } finally {
      member.phase = 'ended';
    }
  }
}
