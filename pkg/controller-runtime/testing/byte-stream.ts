/** A response body that a test writes while the client reads it. When `signal` aborts, the reader gets an error. */
export class ByteStream implements AsyncIterable<Uint8Array> {
  private readonly chunks: Uint8Array[] = [];
  private ending: { readonly error?: unknown } | undefined;
  private wake: (() => void) | undefined;
  /** Called once, when the stream ends or the reader stops reading. */
  private readonly onClosed: () => void;

  constructor(signal: AbortSignal, onClosed: () => void) {
    this.onClosed = onClosed;
    if (signal.aborted) this.break(signal.reason);
    signal.addEventListener('abort', () => this.break(signal.reason), { once: true });
  }

  write(text: string | Uint8Array): void {
    if (this.ending !== undefined) return;
    this.chunks.push(typeof text === 'string' ? new TextEncoder().encode(text) : text);
    this.wake?.();
  }

  /** Ends the stream. The reader still gets the chunks that were written earlier. */
  end(): void {
    this.finish({});
  }

  /** Breaks the stream like a reset connection: unread chunks are lost. */
  break(error: unknown): void {
    this.chunks.length = 0;
    this.finish({ error });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.chunks.shift();
        if (chunk !== undefined) yield chunk;
        else if (this.ending === undefined) await new Promise<void>((resolve) => (this.wake = resolve));
        else if ('error' in this.ending) throw this.ending.error;
        else return;
      }
    } finally {
      this.finish({});
    }
  }

  private finish(ending: { readonly error?: unknown }): void {
    if (this.ending !== undefined) return;
    this.ending = ending;
    this.onClosed();
    this.wake?.();
  }
}
