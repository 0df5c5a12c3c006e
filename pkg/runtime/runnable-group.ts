import { errorMessage } from '../env/error-text.ts';
import type { Logger } from '../env/logger.ts';
import type { Runnable } from './types.ts';

interface Member {
  readonly runnable: Runnable;
  phase: 'waiting' | 'starting' | 'started' | 'ended';
}

/** Parts that are started together and stopped together. */
export class RunnableGroup {
  private readonly logger: Logger;
  private readonly onFailure: (error: unknown) => void;
  private readonly stopping = new AbortController();
  private readonly members: Member[] = [];
  private runs: readonly Promise<void>[] = [];

  /** `onFailure` hears of a part that throws, or that ends before it was told to. */
  constructor(logger: Logger, onFailure: (error: unknown) => void) {
    this.logger = logger;
    this.onFailure = onFailure;
  }

  add(runnable: Runnable): void {
    this.members.push({ runnable, phase: 'waiting' });
  }

  /** Starts every part and resolves when all have started. */
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

  /** Tells every part to end and resolves when all have. Never throws. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error('the manager stops'));
    await Promise.all(this.runs);
  }

  /** The names of those that have not started yet, each with what keeps it from that where that is known. */
  notStarted(): readonly string[] {
    return this.members
      .filter(({ phase }) => phase === 'waiting' || phase === 'starting')
      .map(({ runnable }) => {
        const hindrance = runnable.hindrance?.();
        return hindrance === undefined ? runnable.name : `${runnable.name} (${hindrance})`;
      });
  }

  /** The names of those that were started and have not ended. */
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
      // A part may end a stop by throwing the signal's reason; anything else it throws while stopping is worth a line.
      if (!signal.aborted) this.onFailure(new Error(`running ${name}`, { cause: error }));
      else if (error !== signal.reason)
        this.logger.warn('A part failed while it stopped', { part: name, err: errorMessage(error) });
    } finally {
      member.phase = 'ended';
    }
  }
}
