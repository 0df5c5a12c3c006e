import type { Dispatcher } from 'undici';
import type { Ms } from 'controller-runtime/env';
import { joinHeaderValues, newDispatcher, type ProxyChoice, withCheck } from 'controller-runtime/network';
import { codeOf } from 'controller-runtime/text';
import type { AwsRequest, AwsTransport } from './transport.ts';

/**
 * Limits TCP and TLS together. With a proxy, limits the connection to the proxy, the proxy's answer, and TLS
 * separately. Shorter than a call's deadline, so that an unreachable host is reported as unreachable.
 */
const CONNECT_TIMEOUT: Ms = 5_000;
/** Per AWS endpoint. Further requests wait for a free connection. */
const MAX_CONNECTIONS = 64;

/**
 * `proxyFor` chooses the proxy for each AWS endpoint. By default, there is none. `ca` contains the endpoints'
 * certificate authorities. By default, they are those of Node.js and of NODE_EXTRA_CA_CERTS.
 */
export function undiciTransport({
  proxyFor = () => undefined,
  ca,
}: { readonly proxyFor?: ProxyChoice; readonly ca?: readonly string[] | undefined } = {}): AwsTransport & {
  /** Aborts all requests and closes all connections. */
  close(): Promise<void>;
} {
  /** By proxy URL, or `''` for endpoints without a proxy. */
  const dispatchers = new Map<string, Dispatcher>();
  const options = {
    connections: MAX_CONNECTIONS,
    connectTimeout: CONNECT_TIMEOUT,
    ...(ca !== undefined && { socket: { ca: [...ca] } }),
  };
  const dispatcherFor = (origin: string): Dispatcher => {
    const proxy = proxyFor(new URL(origin));
    const key = proxy?.href ?? '';
    const dispatcher = dispatchers.get(key) ?? newDispatcher({ proxy, ...options });
    dispatchers.set(key, dispatcher);
    return dispatcher;
  };
  return {
    handle: async (request, { abortSignal, beforeSend }) => {
      const { origin, path } = toOriginAndPath(request);
      const dispatcher = beforeSend ? withCheck(dispatcherFor(origin), beforeSend) : dispatcherFor(origin);
      const { method, headers } = request;
      const message = { origin, path, method, headers, body: toBody(request), signal: abortSignal };
      const response = await dispatcher.request(message).catch((error: unknown) => {
        throw isUntrusted(error) ? new Error(describeUntrusted(origin)) : error;
      });
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

/** Node.js's error codes for a certificate that no known authority has signed. */
const UNTRUSTED: readonly string[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];
const isUntrusted = (error: unknown): boolean => UNTRUSTED.includes(codeOf(error));

const describeUntrusted = (origin: string): string =>
  `no known authority has signed the certificate of ${origin}. If your network has an authority of its own, name its ` +
  'certificates in AWS_CA_BUNDLE or NODE_EXTRA_CA_CERTS';

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
