import type { Ms } from '../../../pkg/env/clock.ts';
import type { UsualDuration } from '../reasons/reasons.ts';
import type { CompletedEksChange } from './retry-state.ts';

/**
 * How much the usual duration of an EKS operation grows after a longer operation, as a share of the difference between
 * both durations.
 */
const GROWTH = 1 / 8;
/**
 * How fast the lower bound of the usual duration falls, as a share of the time that passes, because EKS may have become
 * faster.
 */
const DOUBT = 1 / 32;
/** The smallest share of the usual duration to which the lower bound of that duration falls with time. */
const LEAST = 7 / 8;

/**
 * How long EKS takes for creations and deletions, as the polls of all objects see it. The usual duration is about the
 * shortest of the latest durations: it falls at once and grows slowly, because a poll can notice an end late but never
 * early. The values are in memory only; a wrong value causes late or needless polls, and nothing else.
 */
export class Durations {
  private readonly known = new Map<string, UsualDuration & { readonly at: Ms }>();

  /**
   * Adjusts the durations after EKS has finished an operation at the time `at`. `key` stands for the region and the
   * kind of the operation.
   */
  record(key: string, { lasted, took }: CompletedEksChange, at: Ms): void {
    const before = this.known.get(key) ?? { least: lasted > 0 ? lasted : took * LEAST, most: took, at };
    const most = Math.min(took, before.most) + Math.max(0, took - before.most) * GROWTH;
    const doubted = Math.max(before.least - (at - before.at) * DOUBT, Math.min(before.least, most * LEAST));
    this.known.set(key, { least: Math.min(Math.max(lasted, doubted), most), most, at });
  }

  /** Returns how long EKS takes for this kind of operation; `undefined` if this process has seen no such operation. */
  usual(key: string): UsualDuration | undefined {
    const known = this.known.get(key);
    return known && { least: known.least, most: known.most };
  }
}
