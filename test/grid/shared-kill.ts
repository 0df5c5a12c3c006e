import { setTimeout as delay } from 'node:timers/promises';

/**
 * How long the AWS emulator holds back the answer to an AWS call at most, while the manager makes the AWS calls of the
 * other fault cases. This time is shorter than the manager's timeout for an AWS call, which is 10 s.
 */
const LONGEST_HOLD_MS = 8_000;

/**
 * One `kill -9` of the manager that several fault cases share. The fault cases start at the same time. Each fault case
 * chooses one AWS call, and the AWS emulator holds back the answer to this call until the manager is dead.
 */
export class SharedKill {
  readonly #subjects: number;
  #prepared = 0;
  #held = 0;
  #withdrawn = 0;
  #isOver = false;
  readonly #started = Promise.withResolvers<void>();
  readonly #allHeld = Promise.withResolvers<void>();
  readonly #dead = Promise.withResolvers<void>();
  readonly #restarted = Promise.withResolvers<void>();

  constructor(subjects: number) {
    this.#subjects = subjects;
  }

  /**
   * Counts one fault case as prepared. The promise resolves when all fault cases that share the kill are prepared or
   * withdrawn.
   */
  ready(): Promise<void> {
    this.#prepared += 1;
    this.#count();
    return this.#started.promise;
  }

  /**
   * Holds back the answer of the AWS emulator to one call, and returns `true` once the manager has been killed. Returns
   * `false` at once if the kill is over: then the call comes from the next manager, and gets its answer.
   */
  readonly hold = async (): Promise<boolean> => {
    if (this.#isOver) return false;
    this.#held += 1;
    this.#count();
    await this.#dead.promise;
    return true;
  };

  /**
   * Withdraws a fault case whose preparation failed, so that the other fault cases and the kill do not wait for this
   * fault case.
   */
  giveUp(): void {
    this.#withdrawn += 1;
    this.#count();
  }

  /** Resolves when a new manager has started after the kill. */
  restarted(): Promise<void> {
    return this.#restarted.promise;
  }

  /**
   * Kills the manager when the AWS emulator holds back one answer for each fault case, at the latest after
   * `LONGEST_HOLD_MS`. Then starts a new manager.
   */
  async carryOut(killManager: () => Promise<void>, startManager: () => Promise<void>): Promise<void> {
    try {
      await this.#started.promise;
      const timer = new AbortController();
      const tooLate = delay(LONGEST_HOLD_MS, undefined, { signal: timer.signal }).catch(() => undefined);
      await Promise.race([this.#allHeld.promise, tooLate]);
      timer.abort();
      await killManager();
      this.#isOver = true;
      this.#dead.resolve();
      await startManager();
      this.#restarted.resolve();
    } catch (error) {
      this.#dead.resolve();
      this.#restarted.reject(error);
      throw error;
    }
  }

  #count(): void {
    if (this.#prepared + this.#withdrawn >= this.#subjects) this.#started.resolve();
    if (this.#held + this.#withdrawn >= this.#subjects) this.#allHeld.resolve();
  }
}
