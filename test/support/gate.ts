import { eventually } from './eventually.ts';

/** A gate at which events wait until the test opens it, so that the test controls the order of the events. */
export class Gate {
  readonly #what: string;
  readonly #opening = Promise.withResolvers<void>();
  #isReached = false;

  /** @param what the name of the expected event in the error message of `waitForArrival` */
  constructor(what: string) {
    this.#what = what;
  }

  /** The code that the test delays calls this function. Resolves when the test has opened the gate. */
  async pass(): Promise<void> {
    this.#isReached = true;
    await this.#opening.promise;
  }

  /** Waits until an event has arrived at the gate, that is, until the delayed code has called `pass`. */
  async waitForArrival(): Promise<void> {
    await eventually(() => this.#isReached, { what: this.#what });
  }

  /** Opens the gate for all events that wait at it and for all later events. */
  open(): void {
    this.#opening.resolve();
  }
}
