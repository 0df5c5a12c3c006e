import type { AwsRequest, AwsResponse, AwsTransport, SendOptions } from './transport.ts';

/** The options that the manager gives to each SDK call. The SDK passes them to the request handler unchanged. */
export interface DispatchOptions extends Required<SendOptions> {
  /**
   * Called synchronously right before the transport gets the request. If this function throws, the request is not sent.
   */
  readonly beforeDispatch: () => void;
}

interface SdkOptions {
  readonly abortSignal?: unknown;
}

/** The part of the SDK's interface `requestHandler` that the SDK clients use. */
export interface SdkHandler {
  handle(request: AwsRequest, options?: SdkOptions): Promise<{ response: AwsResponse }>;
  destroy(): void;
  updateHttpClientConfig(): void;
  httpHandlerConfigs(): object;
}

/**
 * Creates the request handler that sends an SDK client's requests through the transport. The handler rejects calls
 * without {@link DispatchOptions}, so that no call bypasses its deadline and the leadership check.
 */
export function newCheckedHandler(transport: AwsTransport): SdkHandler {
  return newHandler(async (request, options) => {
    if (!isDispatchOptions(options)) {
      throw new TypeError('an AWS call without its dispatch options');
    }
    options.beforeDispatch();
    const { abortSignal, beforeSend } = options;
    return transport.handle(request, { abortSignal, beforeSend });
  });
}

/**
 * Creates the request handler for the SDK's credential providers. Their requests change nothing in AWS, so the handler
 * does not check the leadership. The signal `limit` aborts all requests of the handler.
 */
export function newUncheckedHandler(transport: AwsTransport, limit: AbortSignal): SdkHandler {
  return newHandler((request) => transport.handle(request, { abortSignal: limit }));
}

/**
 * Creates a request handler for the SDK. Its `destroy` does nothing, because the connections belong to the transport,
 * which outlives every SDK client.
 */
function newHandler(handle: SdkHandler['handle']): SdkHandler {
  return { handle, destroy: () => {}, updateHttpClientConfig: () => {}, httpHandlerConfigs: () => ({}) };
}

function isDispatchOptions(options: SdkOptions | undefined): options is DispatchOptions {
  return (
    options?.abortSignal instanceof AbortSignal &&
    'beforeDispatch' in options &&
    typeof options.beforeDispatch === 'function' &&
    'beforeSend' in options &&
    typeof options.beforeSend === 'function'
  );
}
