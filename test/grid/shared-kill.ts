import { setTimeout as delay } from 'node:timers/promises';

/**
 * The longest time for which the AWS emulator holds back the answer to an AWS call until the manager is killed.
 * Meanwhile the manager makes the AWS calls of the other fault cases. The time is shorter than the manager's timeout
 * for an AWS call, which is 10 s.
 */
const LONGEST_HOLD_MS = 8_000;

/**
 * One `kill -9` of the manager that several fault cases share. A fault case is one AWS call of a test scenario, in
 * which the manager is killed. The fault cases start at the same time. The AWS emulator holds back the answer to the
 * AWS call of each fault case until the manager is dead.
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
   * Called by each fault case that shares the kill, after the fault case has prepared its test scenario. The promise
   * resolves when all these fault cases have called `ready` or `giveUp`.
   */
  ready(): Promise<void> {
    this.#prepared += 1;
    this.#count();
    return this.#started.promise;
  }

  /**
   * Holds back the answer of the AWS emulator to one AWS call, and returns `true` once the manager has been killed.
   * Returns `false` at once if the manager was killed earlier, because then the AWS call comes from the new manager.
   */
  readonly hold = async (): Promise<boolean> => {
    if (this.#isOver) return false;
    this.#held += 1;
    this.#count();
    await this.#dead.promise;
    return true;
  };

  /**
   * Called by a fault case whose preparation failed. The other fault cases and the kill then do not wait for this fault
   * case.
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
   * Kills the manager when the AWS emulator holds back one answer for each fault case that shares the kill, at the
   * latest after `LONGEST_HOLD_MS`. Then starts a new manager.
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
