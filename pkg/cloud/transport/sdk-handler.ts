import { AsyncLocalStorage } from 'node:async_hooks';
import type { AwsRequest, AwsResponse, AwsTransport, SendOptions } from './transport.ts';

export interface DispatchOptions extends Required<SendOptions> {
  /** Called synchronously right before the transport gets the request. If it throws, the request is not sent. */
  readonly beforeDispatch: () => void;
  readonly onDate: (date: string) => void;
}

/**
 * These options are not arguments of the SDK call, because the SDK would then rebuild its middleware chain for each
 * call, which takes a tenth of a call's processor time.
 */
const dispatchOptions = new AsyncLocalStorage<DispatchOptions>();

export const withDispatchOptions = <A>(options: DispatchOptions, call: () => A): A =>
  dispatchOptions.run(options, call);

/** @throws TypeError if called outside of {@link withDispatchOptions} */
export function currentDispatchOptions(): DispatchOptions {
  const options = dispatchOptions.getStore();
  if (options === undefined) throw new TypeError('an AWS call without its dispatch options');
  return options;
}

/** Rejects calls without {@link DispatchOptions}, so that no call bypasses its deadline and the leadership check. */
export function newCheckedHandler(transport: AwsTransport) {
  return newHandler(async (request) => {
    const { beforeDispatch, abortSignal, beforeSend, onDate } = currentDispatchOptions();
    beforeDispatch();
    const answer = await transport.handle(request, { abortSignal, beforeSend });
    const { date } = answer.response.headers;
    if (date !== undefined) onDate(date);
    return answer;
  });
}

/** For the SDK's credential providers: they change nothing, so they need no lease. `limit` aborts all requests. */
export function newUncheckedHandler(transport: AwsTransport, limit: AbortSignal) {
  return newHandler((request) => transport.handle(request, { abortSignal: limit }));
}

/**
 * Implements only what the SDK clients use of the interface `requestHandler`. `destroy` does nothing, because the
 * connections belong to the transport, which outlives every SDK client.
 */
function newHandler(handle: (request: AwsRequest) => Promise<{ response: AwsResponse }>) {
  return { handle, destroy: () => {}, updateHttpClientConfig: () => {}, httpHandlerConfigs: () => ({}) };
}
