/** A body that is written while it is read. Breaks when the reader's signal aborts. */
export class ByteStream implements AsyncIterable<Uint8Array> {
  private readonly chunks: Uint8Array[] = [];
  private over: { readonly error?: unknown } | undefined;
  private wake: (() => void) | undefined;
  /** Called once, when the reader is done with it, however it ended. */
  private readonly onClosed: () => void;

  constructor(signal: AbortSignal, onClosed: () => void) {
    this.onClosed = onClosed;
    if (signal.aborted) this.break(signal.reason);
    signal.addEventListener('abort', () => this.break(signal.reason), { once: true });
  }

  write(text: string | Uint8Array): void {
    if (this.over !== undefined) return;
    this.chunks.push(typeof text === 'string' ? new TextEncoder().encode(text) : text);
    this.wake?.();
  }

  /** What was written is still read. */
  end(): void {
    this.finish({});
  }

  /** What was written and not read yet is lost, as with a reset connection. */
  break(error: unknown): void {
    this.chunks.length = 0;
    this.finish({ error });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.chunks.shift();
        if (chunk !== undefined) yield chunk;
        else if (this.over === undefined) await new Promise<void>((resolve) => (this.wake = resolve));
        else if ('error' in this.over) throw this.over.error;
        else return;
      }
    } finally {
      this.finish({});
    }
  }

  private finish(how: { readonly error?: unknown }): void {
    if (this.over !== undefined) return;
    this.over = how;
    this.onClosed();
    this.wake?.();
  }
}
