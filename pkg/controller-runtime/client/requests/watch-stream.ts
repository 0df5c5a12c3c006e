import { DeadlineExceeded, isAborted, untilAborted } from '../../async/deadline.ts';
import type { Clock } from '../../env/clock.ts';
import { ACCEPT_JSON, noAnswerError, REQUEST_DEADLINE } from './api-requests.ts';
import { decodeWatchEvent } from './decode.ts';
import { errorFromResponse } from './error-response.ts';
import { KubeError } from '../errors.ts';
import { readText, type Transport, type TransportResponse } from '../transport.ts';
import type { WatchEvent } from '../types.ts';

export interface WatchStreamOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** For error messages, e.g. "watching x". */
  readonly doing: string;
  readonly path: string;
  readonly signal: AbortSignal;
}

/**
 * Opens a watch and yields its events, until the API server closes the watch or the signal aborts. Throws a KubeError
 * with the reason `NoAnswer` (no response headers in time), `Interrupted`, `Undecodable`, or the reason in the
 * response.
 */
export async function* watchEvents(options: WatchStreamOptions): AsyncGenerator<WatchEvent> {
  const { doing, signal } = options;
  const stream = new AbortController();
  const stop = (): void => stream.abort(signal.reason);
  if (signal.aborted) return;
  signal.addEventListener('abort', stop, { once: true });
  let isOpen = false;
  try {
    const response = await openWatch(options, stream);
    isOpen = true;
    for await (const line of splitLines(response.body)) {
      if (isAborted(signal)) return;
      yield decodeWatchEvent(doing, line);
    }
  } catch (error) {
    if (isAborted(signal)) return;
    if (error instanceof KubeError) throw error;
    throw isOpen ? interruptedError(doing, error) : noAnswerError(doing, error);
  } finally {
    signal.removeEventListener('abort', stop);
    stream.abort();
  }
}

/** The deadline applies only to the response headers, not to the events. */
async function openWatch(
  { transport, clock, doing, path }: WatchStreamOptions,
  stream: AbortController,
): Promise<TransportResponse> {
  const timer = clock.after(REQUEST_DEADLINE, () =>
    stream.abort(new DeadlineExceeded('the API server', REQUEST_DEADLINE)),
  );
  try {
    const response = await untilAborted(stream.signal, (signal) =>
      transport.send({ method: 'GET', path, headers: ACCEPT_JSON, signal }),
    );
    if (response.status === 200) return response;
    const text = await readText(response.body);
    throw errorFromResponse(doing, 'GET', { status: response.status, headers: response.headers, text });
  } finally {
    timer.cancel();
  }
}

const interruptedError = (doing: string, cause: unknown): KubeError =>
  new KubeError(`${doing}: interrupted`, { status: 0, reason: 'Interrupted', cause });

/** Yields the lines of the body except empty ones. Throws if the last line has no newline. */
async function* splitLines(body: TransportResponse['body']): AsyncGenerator<string> {
  // The decoder keeps the bytes of an incomplete character for the next chunk.
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const line = rest + text.slice(start, end);
      rest = '';
      start = end + 1;
      if (line !== '') yield line;
    }
    rest += text.slice(start);
  }
  rest += decoder.decode();
  if (rest !== '') throw new Error('the connection ended within an event');
}
