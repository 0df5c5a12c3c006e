import { DeadlineExceeded, isAborted, untilAborted } from '../../async/deadline.ts';
import type { Clock } from '../../env/clock.ts';
import { ACCEPT_JSON, noAnswerError } from './api-requests.ts';
import { REQUEST_DEADLINE } from './deadlines.ts';
import { decodeWatchEvent } from './decode.ts';
import { errorFromResponse } from './error-response.ts';
import { KubeError } from '../errors.ts';
import { splitLines } from './split-lines.ts';
import { readText, type Transport, type TransportResponse } from '../transport/transport.ts';
import type { WatchEvent } from '../types.ts';

export interface WatchStreamOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** The action of the request in error messages, e.g. "watching x". */
  readonly doing: string;
  /** The path and query of the watch request. */
  readonly path: string;
  readonly signal: AbortSignal;
}

/**
 * Opens a watch and yields its events. Ends when the API server closes the watch or the signal aborts. Throws a
 * KubeError: with the reason `NoAnswer` when there are no response headers within 30 s, with the reason of the response
 * when its status is not 200, with the reason `Interrupted` when the connection breaks, and with the reason
 * `Undecodable` when a line is not a watch event.
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
    for await (const line of splitLines(response.body, failOnIncompleteLine)) {
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

/** Sends a watch request with a deadline for the response headers. The events after the headers have no deadline. */
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

function failOnIncompleteLine(): never {
  throw new Error('the connection ended within an event');
}

const interruptedError = (doing: string, cause: unknown): KubeError =>
  new KubeError(`${doing}: interrupted`, { status: 0, reason: 'Interrupted', cause });
