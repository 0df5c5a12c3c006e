import type { Dispatcher } from 'undici';
import { joinHeaderValues } from '../network/dispatcher.ts';
import type { TransportRequest, TransportResponse } from '../client/transport.ts';

/** Sends the request to `server`, with `credentials` as headers. */
export async function exchange(
  dispatcher: Dispatcher,
  server: URL,
  { method, path, headers, body, signal }: TransportRequest,
  credentials: TransportRequest['headers'],
): Promise<TransportResponse> {
  const response = await dispatcher.request({
    origin: server.origin,
    // The URL has a path when the API server is behind a gateway.
    path: server.pathname.replace(/\/$/, '') + path,
    method,
    headers: { ...headers, ...credentials },
    ...(body !== undefined && { body }),
    signal,
  });
  return { status: response.statusCode, headers: joinHeaderValues(response.headers), body: response.body };
}
