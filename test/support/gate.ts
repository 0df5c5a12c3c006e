import { eventually } from './eventually.ts';

const PATIENCE_MS = 30_000;

/** Where something on its way waits until a test lets it go on: with it the test decides what comes first. */
export class Gate {
  readonly #what: string;
  readonly #opening = Promise.withResolvers<void>();
  #isReached = false;

  /** @param what comes here, as it should read in the error when it does not */
  constructor(what: string) {
    this.#what = what;
  }

  /** For whoever is on its way: resolves once the gate is open. */
  async pass(): Promise<void> {
    this.#isReached = true;
    await this.#opening.promise;
  }

  /** Waits until somebody is at the gate. */
  async arrived(): Promise<void> {
    await eventually(() => this.#isReached, { what: this.#what, timeoutMs: PATIENCE_MS });
  }

  /** Lets all go on that wait, and whoever comes later. */
  open(): void {
    this.#opening.resolve();
  }
}
