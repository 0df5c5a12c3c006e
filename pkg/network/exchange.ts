import type { Dispatcher } from 'undici';

export interface ExchangeOptions {
  readonly signal: AbortSignal;
  /**
   * Runs when the request has a connection; undici writes the request in the same turn of the event loop. If it throws,
   * the request is not sent, and `exchange` rejects with that error.
   */
  readonly beforeSend?: (() => void) | undefined;
}

export interface WholeResponse {
  readonly statusCode: number;
  /** With names in lower case. The values of a repeated header are joined with `, `. */
  readonly headers: Record<string, string>;
  readonly body: readonly Buffer[];
}

/** The caller never gets this error of undici's request; it gets the reason of the signal. */
const ABORTED = new Error('the exchange was aborted');

/**
 * Sends a request and reads the whole response. Unlike `Dispatcher.request` of undici, this makes no stream for the
 * body, which saves a quarter of the processor time of a small request. Rejects with the reason of `signal` or with
 * undici's error.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { signal, beforeSend }: ExchangeOptions,
): Promise<WholeResponse> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    let controller: Dispatcher.DispatchController | undefined;
    let head: Omit<WholeResponse, 'body'> | undefined;
    const body: Buffer[] = [];
    const onAbort = (): void => {
      reject(signal.reason);
      controller?.abort(ABORTED);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const stopListening = (): void => signal.removeEventListener('abort', onAbort);
    dispatcher.dispatch(request, {
      onRequestStart: (started) => {
        controller = started;
        if (signal.aborted) started.abort(ABORTED);
        else beforeSend?.();
      },
      // undici also calls onResponseStart for an informational response (1xx), before the final response.
      onResponseStart: (_, statusCode, headers) => {
        head = { statusCode, headers: joinHeaderValues(headers) };
      },
      onResponseData: (_, chunk) => {
        body.push(chunk);
      },
      onResponseEnd: () => {
        stopListening();
        if (head === undefined) reject(new Error('a response without a status'));
        else resolve({ ...head, body });
      },
      onResponseError: (_, error) => {
        stopListening();
        reject(error);
      },
    });
  });
}

/** Joins the values of repeated headers with `, `, as HTTP allows (RFC 9110, section 5.3). */
export function joinHeaderValues(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) joined[name] = typeof value === 'string' ? value : value.join(', ');
  return joined;
}
