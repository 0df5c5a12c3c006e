import { AsyncLocalStorage } from 'node:async_hooks';
import type { AwsRequest, AwsResponse, AwsTransport, SendOptions } from './transport.ts';

/** The options of one call of an SDK client, for the request handler of the client. */
export interface DispatchOptions extends Required<SendOptions> {
  /**
   * Called synchronously right before the transport gets the request. If this function throws, the request is not sent.
   */
  readonly beforeDispatch: () => void;
}

/**
 * The options of the SDK call that runs in the current asynchronous context. They are not arguments of the SDK call,
 * because the SDK would then build its chain of middleware anew for each call, which takes a tenth of the processor time
 * of a call.
 */
const dispatchOptions = new AsyncLocalStorage<DispatchOptions>();

/** Runs a call of an SDK client. The request handler of the client gets `options`. */
export const withDispatchOptions = <A>(options: DispatchOptions, call: () => A): A =>
  dispatchOptions.run(options, call);

/** @throws TypeError if called outside of {@link withDispatchOptions} */
export function currentDispatchOptions(): DispatchOptions {
  const options = dispatchOptions.getStore();
  if (options === undefined) throw new TypeError('an AWS call without its dispatch options');
  return options;
}

/** The part of the SDK's interface `requestHandler` that the SDK clients use. */
export interface SdkHandler {
  handle(request: AwsRequest): Promise<{ response: AwsResponse }>;
  destroy(): void;
  updateHttpClientConfig(): void;
  httpHandlerConfigs(): object;
}

/**
 * Creates the request handler that sends an SDK client's requests through the transport. The handler rejects calls
 * without {@link DispatchOptions}, so that no call bypasses its deadline and the leadership check.
 */
export function newCheckedHandler(transport: AwsTransport): SdkHandler {
  return newHandler(async (request) => {
    const { beforeDispatch, abortSignal, beforeSend } = currentDispatchOptions();
    beforeDispatch();
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
