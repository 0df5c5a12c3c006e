import * as s from 'controller-runtime/schema';
import type { CallRequest } from '../call/call.ts';
import type { CallKind } from '../call/rate-limiter.ts';
import { currentDispatchOptions, type DispatchOptions } from '../transport/sdk-handler.ts';

export const RESPONSE_METADATA = { $metadata: { httpStatusCode: 200, requestId: 'request-1' } };
export const NamedResponse = s.object({ name: s.string() });

/**
 * Returns a request for a `CallFactory` (a function that creates AWS calls). The request's `send` skips the SDK's
 * signing, and runs `work` in place of the HTTP request to AWS.
 */
export function requestOf(
  kind: CallKind,
  work: (options: DispatchOptions) => Promise<unknown>,
): CallRequest<{ readonly name: string }> {
  return {
    operation: 'Operate',
    kind,
    response: NamedResponse,
    send: async () => {
      const options = currentDispatchOptions();
      options.beforeDispatch();
      return work(options);
    },
  };
}

/** Returns a response that the decoder of a request from {@link requestOf} accepts. */
export const respondNamed = async (): Promise<unknown> => ({ name: 'x', ...RESPONSE_METADATA });
export const neverSettle = (): Promise<unknown> => new Promise(() => {});
