/**
 * A connection from a manager to the API server or to AWS. While a test interrupts the connection, the data on it
 * waits, and neither side gets an error.
 */
export class Connection {
  private readonly gone = new AbortController();
  private open: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  /** A signal that aborts when the process of the manager is killed. */
  get killed(): AbortSignal {
    return this.gone.signal;
  }

  /** Interrupts the connection: data that is on its way or sent later waits until {@link restore} is called. */
  cut(): void {
    this.open ??= Promise.withResolvers<void>();
  }

  restore(): void {
    if (this.gone.signal.aborted) return;
    this.open?.resolve();
    this.open = undefined;
  }

  /** Closes the connection for good. The server sees that the connection is closed. */
  kill(): void {
    this.cut();
    this.gone.abort(new Error('the process was killed'));
  }

  /**
   * Resolves when the connection is not interrupted. If the given AbortSignal aborts earlier, throws its abort reason.
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
