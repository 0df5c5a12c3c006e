import { EnvHttpProxyAgent } from 'undici';
import type { Dispatcher } from 'undici';
import type { AwsRequest, AwsTransport } from './transport.ts';

/**
 * How long TCP and TLS may take to connect, in ms. Shorter than the deadline of an AWS call, so that an unreachable
 * host is reported as unreachable.
 */
const CONNECT_TIMEOUT = 5_000;

/**
 * Creates the transport that sends AWS requests over the network. It honours HTTPS_PROXY, HTTP_PROXY, NO_PROXY and
 * NODE_EXTRA_CA_CERTS.
 */
export function undiciTransport(): AwsTransport & {
  /** Closes the HTTP connections that are kept alive. */
  close(): Promise<void>;
} {
  // The caller's abort signal carries the deadlines. undici's own timeouts (minutes) are off, because they would only
  // hide a missing deadline.
  const dispatcher = new EnvHttpProxyAgent({
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_TIMEOUT },
  });
  return {
    handle: async (request, { abortSignal, beforeSend }) => {
      const { method, headers } = request;
      const sender = beforeSend === undefined ? dispatcher : dispatcher.compose(callBeforeSend(beforeSend));
      const response = await sender.request({
        ...toOriginAndPath(request),
        method,
        headers,
        body: toBody(request),
        signal: abortSignal,
      });
      return {
        response: {
          statusCode: response.statusCode,
          headers: Object.fromEntries(
            Object.entries(response.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
          ),
          body: await response.body.bytes(),
        },
      };
    },
    close: () => dispatcher.close(),
  };
}

/**
 * Calls `beforeSend` right before a request is sent: undici calls onRequestStart when undici has a connection, and
 * writes the request in the same turn of the event loop.
 */
const callBeforeSend =
  (beforeSend: () => void): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) =>
    dispatch(options, {
      onRequestStart: (controller, context) => {
        beforeSend();
        handler.onRequestStart?.(controller, context);
      },
      onRequestUpgrade: (...upgrade) => handler.onRequestUpgrade?.(...upgrade),
      onResponseStart: (...start) => handler.onResponseStart?.(...start),
      onResponseData: (...data) => handler.onResponseData?.(...data),
      onResponseEnd: (...end) => handler.onResponseEnd?.(...end),
      onResponseError: (...failure) => handler.onResponseError?.(...failure),
    });

export function toOriginAndPath({ protocol, hostname, port, path, query = {} }: AwsRequest): {
  readonly origin: string;
  readonly path: string;
} {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === null
      ? [percentEncode(key)]
      : [value].flat().map((each) => `${percentEncode(key)}=${percentEncode(each)}`),
  );
  const origin = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
  return { origin, path: `${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}` };
}

/** Percent-encodes text by RFC 3986, as AWS's signature does. */
const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

function toBody({ body }: AwsRequest): string | Uint8Array | null {
  if (body === undefined || body === null || body === '') {
    return null;
  }
  if (typeof body === 'string' || body instanceof Uint8Array) {
    return body;
  }
  throw new TypeError('a request of AWS whose body is neither text nor bytes');
}
