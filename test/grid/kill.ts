import { setTimeout as delay } from 'node:timers/promises';

/** Answers are held back until all calls of a kill have had their effect; the manager gives up on a call after 10 s. */
const LONGEST_HOLD_MS = 8_000;

/**
 * One `kill -9` for several cells: each begins its scenario when all are ready to, and is killed right after its call had
 * its effect. The first to get there wait for the others.
 */
export class Kill {
  readonly #cells: number;
  #prepared = 0;
  #held = 0;
  #given = 0;
  #isOver = false;
  readonly #begun = Promise.withResolvers<void>();
  readonly #allHeld = Promise.withResolvers<void>();
  readonly #dead = Promise.withResolvers<void>();
  readonly #back = Promise.withResolvers<void>();

  constructor(cells: number) {
    this.#cells = cells;
  }

  /** A cell is ready to begin; resolves when all are. */
  ready(): Promise<void> {
    this.#prepared += 1;
    this.#count();
    return this.#begun.promise;
  }

  /** A cell's call has had its effect; resolves when the manager is dead. `false`: it came too late, from the next one. */
  readonly hold = async (): Promise<boolean> => {
    if (this.#isOver) return false;
    this.#held += 1;
    this.#count();
    await this.#dead.promise;
    return true;
  };

  /** A cell takes no part (any more). */
  giveUp(): void {
    this.#given += 1;
    this.#count();
  }

  /** Resolves when there is a manager again. */
  survived(): Promise<void> {
    return this.#back.promise;
  }

  /** Kills when all cells are held, or when the first would not be held any more; then sees to a new manager. */
  async carryOut(killManager: () => Promise<void>, startManager: () => Promise<void>): Promise<void> {
    try {
      await this.#begun.promise;
      const timer = new AbortController();
      const tooLate = delay(LONGEST_HOLD_MS, undefined, { signal: timer.signal }).catch(() => undefined);
      await Promise.race([this.#allHeld.promise, tooLate]);
      timer.abort();
      await killManager();
      this.#isOver = true;
      this.#dead.resolve();
      await startManager();
      this.#back.resolve();
    } catch (error) {
      this.#dead.resolve();
      this.#back.reject(error);
      throw error;
    }
  }

  #count(): void {
    if (this.#prepared + this.#given >= this.#cells) this.#begun.resolve();
    if (this.#held + this.#given >= this.#cells) this.#allHeld.resolve();
  }
}
