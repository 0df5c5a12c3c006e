import { EnvHttpProxyAgent } from 'undici';
import type { Dispatcher } from 'undici';
import type { AwsRequest, AwsTransport } from './transport.ts';

/** Milliseconds for TCP and TLS: a host that does not answer is found out before the call's own deadline. */
const CONNECT_TIMEOUT = 5_000;

/** The network. Honours HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and NODE_EXTRA_CA_CERTS as Node does. */
export function undiciTransport(): AwsTransport & {
  /** Ends the connections that are kept alive. */
  close(): Promise<void>;
} {
  // Deadlines are the caller's, by its signal; undici's own, minutes long, would only hide a mistake there.
  const dispatcher = new EnvHttpProxyAgent({
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_TIMEOUT },
  });
  return {
    handle: async (request, { abortSignal, beforeSend }) => {
      const { method, headers } = request;
      const sender = beforeSend === undefined ? dispatcher : dispatcher.compose(asking(beforeSend));
      const answer = await sender.request({
        ...addressOf(request),
        method,
        headers,
        body: bodyOf(request),
        signal: abortSignal,
      });
      return {
        response: {
          statusCode: answer.statusCode,
          headers: Object.fromEntries(
            Object.entries(answer.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
          ),
          body: await answer.body.bytes(),
        },
      };
    },
    close: () => dispatcher.close(),
  };
}

/** undici starts a request when it has a connection for it, and writes it in the same turn. */
const asking =
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

export function addressOf({ protocol, hostname, port, path, query = {} }: AwsRequest): {
  readonly origin: string;
  readonly path: string;
} {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === null ? [encoded(key)] : [value].flat().map((each) => `${encoded(key)}=${encoded(each)}`),
  );
  const origin = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
  return { origin, path: `${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}` };
}

/** RFC 3986, as the signature has it. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

function bodyOf({ body }: AwsRequest): string | Uint8Array | null {
  if (body === undefined || body === null || body === '') {
    return null;
  }
  if (typeof body === 'string' || body instanceof Uint8Array) {
    return body;
  }
  throw new TypeError('a request of AWS whose body is neither text nor bytes');
}
