import { setTimeout as delay } from 'node:timers/promises';

/**
 * The longest time for which the AWS emulator holds back the answer to an AWS call until the manager is killed.
 * Meanwhile the manager makes the AWS calls of the other fault cases. The time is shorter than the manager's timeout
 * for an AWS call, which is 10 s.
 */
const LONGEST_HOLD_MS = 8_000;

/**
 * The longest time for which the fault cases of one kill may prepare their test scenarios. Each wait of a preparation
 * has a shorter timeout, so this time runs out only after a mistake in the tests.
 */
const LONGEST_PREPARATION_MS = 5 * 60_000;

/**
 * One `kill -9` of the manager that several fault cases share. A fault case is one AWS call of a test scenario, in
 * which the manager is killed. The fault cases start at the same time. The AWS emulator holds back the answer to the
 * AWS call of each fault case until the manager is dead.
 */
export class SharedKill {
  /** The names of the fault cases that have not yet prepared their test scenario. */
  readonly #unprepared: Set<string>;
  /** The names of the fault cases whose AWS call the AWS emulator does not hold back yet. */
  readonly #unheld: Set<string>;
  #isOver = false;
  readonly #started = Promise.withResolvers<void>();
  readonly #allHeld = Promise.withResolvers<void>();
  readonly #dead = Promise.withResolvers<void>();
  readonly #restarted = Promise.withResolvers<void>();

  constructor(names: readonly string[]) {
    this.#unprepared = new Set(names);
    this.#unheld = new Set(names);
    for (const { promise } of [this.#started, this.#restarted]) promise.catch(() => undefined);
  }

  /**
   * Called by each fault case that shares the kill, after the fault case has prepared its test scenario. The promise
   * resolves when all these fault cases have called `ready` or `giveUp`.
   */
  ready(name: string): Promise<void> {
    this.#unprepared.delete(name);
    this.#check();
    return this.#started.promise;
  }

  /**
   * Holds back the answer of the AWS emulator to one AWS call, and returns `true` once the manager has been killed.
   * Returns `false` at once if the manager was killed earlier, because then the AWS call comes from the new manager.
   */
  async hold(name: string): Promise<boolean> {
    if (this.#isOver) return false;
    this.#unheld.delete(name);
    this.#check();
    await this.#dead.promise;
    return true;
  }

  /** Called by a fault case that failed. The other fault cases and the kill then do not wait for this fault case. */
  giveUp(name: string): void {
    this.#unprepared.delete(name);
    this.#unheld.delete(name);
    this.#check();
  }

  /** Resolves when a new manager has started after the kill. */
  restarted(): Promise<void> {
    return this.#restarted.promise;
  }

  /**
   * Kills the manager when the AWS emulator holds back one answer for each fault case that shares the kill, at the
   * latest after `LONGEST_HOLD_MS`. Then starts a new manager.
   * @throws if a fault case has neither prepared its test scenario nor failed after `LONGEST_PREPARATION_MS`, or if a
   * given function fails
   */
  async carryOut(killManager: () => Promise<void>, startManager: () => Promise<void>): Promise<void> {
    try {
      const isReady = await isSettledWithin(LONGEST_PREPARATION_MS, this.#started.promise);
      if (!isReady) throw new Error(`not prepared in time: ${[...this.#unprepared].join('; ')}`);
      await isSettledWithin(LONGEST_HOLD_MS, this.#allHeld.promise);
      await killManager();
      this.#isOver = true;
      this.#dead.resolve();
      await startManager();
      this.#restarted.resolve();
    } catch (error) {
      this.#started.reject(error);
      this.#dead.resolve();
      this.#restarted.reject(error);
      throw error;
    }
  }

  #check(): void {
    if (this.#unprepared.size === 0) this.#started.resolve();
    if (this.#unheld.size === 0) this.#allHeld.resolve();
  }
}

async function isSettledWithin(ms: number, promise: Promise<void>): Promise<boolean> {
  const timer = new AbortController();
  const timeout = delay(ms, false, { signal: timer.signal }).catch(() => false);
  try {
    return await Promise.race([promise.then(() => true), timeout]);
  } finally {
    timer.abort();
  }
}
