import type { UsualDuration } from '../reasons/reasons.ts';
import type { CompletedWait } from './retry-state.ts';

/** How much the usual duration grows after a longer operation, as a share of the difference. */
const GROWTH = 1 / 8;
/**
 * How much the lower bound falls after an operation that the first poll found finished, as a share of the usual
 * duration. EKS may have become faster, and only an earlier poll can show that.
 */
const DOUBT = 1 / 256;
/** The lower bound, as a share of the usual duration, if no poll came too early. */
const LEAST = 7 / 8;

/**
 * How long EKS takes for creations and deletions, as the polls of all objects see it. The usual duration is the shortest
 * of the latest durations: it falls at once and grows slowly, because a poll can notice an end late but never early. The
 * values are in memory only; a wrong value causes late or needless polls, and nothing else.
 */
export class Durations {
  private readonly known = new Map<string, UsualDuration>();

  /** Learns from an operation that EKS has finished. `key` stands for the region and the kind of the operation. */
  record(key: string, { lasted, took }: CompletedWait): void {
    const before = this.known.get(key) ?? { least: lasted, most: took };
    const most = Math.min(took, before.most) + Math.max(0, took - before.most) * GROWTH;
    const least = lasted > 0 ? Math.max(lasted, before.least) : Math.max(before.least - most * DOUBT, most * LEAST);
    this.known.set(key, { least: Math.min(least, most), most });
  }

  /** Returns how long EKS takes for this kind of operation; `undefined` if this process has seen no such operation. */
  usual(key: string): UsualDuration | undefined {
    return this.known.get(key);
  }
}
