/**
 * A connection from a manager to the API server or to AWS. While a test interrupts the connection, its data waits, and
 * neither side gets an error.
 */
export class Connection {
  private readonly gone = new AbortController();
  private open: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  /** A signal that aborts when the manager is killed or exits with an error. */
  get killed(): AbortSignal {
    return this.gone.signal;
  }

  /** Interrupts the connection. Data that is on its way or sent later waits until the test calls {@link restore}. */
  cut(): void {
    this.open ??= Promise.withResolvers<void>();
  }

  restore(): void {
    if (this.gone.signal.aborted) return;
    this.open?.resolve();
    this.open = undefined;
  }

  /** Closes the connection permanently. The server notices this, and ends the watches that the manager had opened. */
  kill(): void {
    this.cut();
    this.gone.abort(new Error('the process was killed'));
  }

  /**
   * Resolves as soon as the connection is not interrupted.
   * @throws the abort reason of the given signal, if the signal aborts before
   */
  async untilOpen(signal: AbortSignal | undefined): Promise<void> {
    while (this.open !== undefined) {
      const { promise } = this.open;
      await (signal === undefined ? promise : Promise.race([promise, rejected(signal)]));
    }
  }
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
