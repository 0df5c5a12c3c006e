import type { AwsRequest, AwsResponse, AwsTransport, SendOptions } from './transport.ts';

/**
 * What goes with each call through the SDK down to the moment of sending. The SDK hands these options on as they are.
 */
export interface DispatchOptions extends Required<SendOptions> {
  /** Called synchronously right before the request is handed to the transport; throws to keep it from being sent. */
  readonly beforeDispatch: () => void;
}

interface SdkOptions {
  readonly abortSignal?: unknown;
}

/** A `requestHandler` for the clients of the SDK. */
export interface SdkHandler {
  handle(request: AwsRequest, options?: SdkOptions): Promise<{ response: AwsResponse }>;
  destroy(): void;
  updateHttpClientConfig(): void;
  httpHandlerConfigs(): object;
}

/**
 * Lets an SDK client send through the transport, and only calls that carry {@link DispatchOptions}: none can slip past
 * the deadline and the check of leadership.
 */
export function guardedHandler(transport: AwsTransport): SdkHandler {
  return handler(async (request, options) => {
    if (!isDispatchOptions(options)) {
      throw new TypeError('a call of AWS came without its guard');
    }
    options.beforeDispatch();
    const { abortSignal, beforeSend } = options;
    return transport.handle(request, { abortSignal, beforeSend });
  });
}

/** For the calls that the SDK's credential providers make on their own, within `limit`. */
export function plainHandler(transport: AwsTransport, limit: AbortSignal): SdkHandler {
  return handler((request) => transport.handle(request, { abortSignal: limit }));
}

/** Connections belong to the transport, which outlives every client. */
function handler(handle: SdkHandler['handle']): SdkHandler {
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
