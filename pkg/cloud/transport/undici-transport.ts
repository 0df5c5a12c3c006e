import type { Dispatcher } from 'undici';
import type { Ms } from '../../env/clock.ts';
import { joinHeaderValues, newDispatcher, withCheck } from '../../network/dispatcher.ts';
import type { ProxyChoice } from '../../network/environment-proxy.ts';
import type { AwsRequest, AwsTransport } from './transport.ts';

/**
 * For TCP and TLS together; with a proxy, for the connection to it, its answer and TLS each. Shorter than the deadline
 * of a call, so that an unreachable host is reported as unreachable.
 */
const CONNECT_TIMEOUT: Ms = 5_000;
/** To one AWS endpoint. Further requests wait for one of them. */
const MAX_CONNECTIONS = 64;

/** Honours NODE_EXTRA_CA_CERTS. `proxyFor` chooses the proxy for each AWS endpoint; default: none. */
export function undiciTransport({
  proxyFor = () => undefined,
}: { readonly proxyFor?: ProxyChoice } = {}): AwsTransport & {
  /** Aborts all requests and closes all connections. */
  close(): Promise<void>;
} {
  /** By proxy; `''` for the endpoints without one. */
  const dispatchers = new Map<string, Dispatcher>();
  const dispatcherFor = (origin: string): Dispatcher => {
    const proxy = proxyFor(new URL(origin));
    const key = proxy?.href ?? '';
    const dispatcher =
      dispatchers.get(key) ?? newDispatcher({ proxy, connections: MAX_CONNECTIONS, connectTimeout: CONNECT_TIMEOUT });
    dispatchers.set(key, dispatcher);
    return dispatcher;
  };
  return {
    handle: async (request, { abortSignal, beforeSend }) => {
      const { origin, path } = toOriginAndPath(request);
      const dispatcher = beforeSend ? withCheck(dispatcherFor(origin), beforeSend) : dispatcherFor(origin);
      const { method, headers } = request;
      const message = { origin, path, method, headers, body: toBody(request), signal: abortSignal };
      const response = await dispatcher.request(message);
      return {
        response: {
          statusCode: response.statusCode,
          headers: joinHeaderValues(response.headers),
          body: await response.body.bytes(),
        },
      };
    },
    close: async () => {
      await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

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
  if (body === undefined || body === null || body === '') return null;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  throw new TypeError('a request of AWS whose body is neither text nor bytes');
}
