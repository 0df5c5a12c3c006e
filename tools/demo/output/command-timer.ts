import type { Printer } from './printer.ts';

/**
 * Measures the seconds since the start of the last command. The timer delays output during a command until the command
 * has ended.
 */
export class CommandTimer {
  readonly #printer: Printer;
  #startedAt = performance.now();
  #held: (() => void)[] | undefined;

  constructor(printer: Printer) {
    this.#printer = printer;
  }

  /** Runs a command, and measures seconds from its start until the start of the next command. */
  async runCommand(command: () => Promise<void>): Promise<void> {
    this.#startedAt = performance.now();
    this.#held = [];
    try {
      await command();
    } finally {
      const held = this.#held;
      this.#held = undefined;
      this.#printer.line();
      for (const show of held) show();
    }
  }

  /**
   * Calls the callback `show`, which prints output. While a command runs, `show` is called only after the command has
   * ended. The argument of `show` is the time from the start of the last command until this method was called.
   */
  show(show: (seconds: string) => void): void {
    const seconds = `${((performance.now() - this.#startedAt) / 1000).toFixed(1).padStart(6)} s`;
    if (this.#held === undefined) show(seconds);
    else this.#held.push(() => show(seconds));
  }
}
