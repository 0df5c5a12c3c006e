/** The way to a server, which a test can cut: then nothing gets through, and nobody is told. */
export class Line {
  private readonly gone = new AbortController();
  private open: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  /** Aborted when the caller's process is killed. */
  get killed(): AbortSignal {
    return this.gone.signal;
  }

  /** What is under way, and what comes, waits until {@link restore}. */
  cut(): void {
    this.open ??= Promise.withResolvers<void>();
  }

  restore(): void {
    if (this.gone.signal.aborted) return;
    this.open?.resolve();
    this.open = undefined;
  }

  /** Nothing gets through any more; the servers see the connections end. */
  kill(): void {
    this.cut();
    this.gone.abort(new Error('the process was killed'));
  }

  /** Resolves when something gets through. Throws the signal's reason when it aborts first. */
  async pass(signal: AbortSignal | undefined): Promise<void> {
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
