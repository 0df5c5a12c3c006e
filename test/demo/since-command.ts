import type { Page } from './page.ts';

/** Shows what a command sets off, with the seconds since it began, and never in the midst of what the command prints. */
export class SinceCommand {
  readonly #page: Page;
  #startedAt = performance.now();
  #held: (() => void)[] | undefined;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Runs a command, from whose start seconds are counted. What it sets off is shown after what it prints. */
  async during(command: () => Promise<void>): Promise<void> {
    this.#startedAt = performance.now();
    this.#held = [];
    try {
      await command();
    } finally {
      const held = this.#held;
      this.#held = undefined;
      this.#page.line();
      for (const show of held) show();
    }
  }

  /** Shows something now, or once the command has printed all of its own; `seconds` are those of this moment. */
  show(show: (seconds: string) => void): void {
    const seconds = `${((performance.now() - this.#startedAt) / 1000).toFixed(1).padStart(6)} s`;
    if (this.#held === undefined) show(seconds);
    else this.#held.push(() => show(seconds));
  }
}
