import * as E from 'fp-ts/lib/Either.js';
import { sleep } from '../../async/deadline.ts';
import type { Clock, Ms } from '../../env/clock.ts';
import type { KubeError } from '../errors.ts';

/** How many times at most the client repeats a request whose response has a Retry-After. The number is client-go's. */
const MAX_RETRIES = 10;

/**
 * Repeats a request as long as the API server asks for that with Retry-After, at most {@link MAX_RETRIES} times and
 * within the time `limit`. Returns the result of `attempt`, or throws its last error.
 */
export async function retryAsAsked<A>(
  { clock, limit, signal }: { readonly clock: Clock; readonly limit: Ms; readonly signal: AbortSignal },
  attempt: (timeLeft: Ms) => Promise<E.Either<KubeError, A>>,
): Promise<A> {
  const end = clock.monotonic() + limit;
  for (let retries = 0; ; retries++) {
    const result = await attempt(end - clock.monotonic());
    if (E.isRight(result)) return result.right;
    const error = result.left;
    const delay = retryDelayOf(error);
    if (delay === undefined || retries === MAX_RETRIES || clock.monotonic() + delay >= end) throw error;
    await sleep(clock, delay, signal).catch(() => {
      throw error;
    });
  }
}

/**
 * The delay after which the API server asks to repeat a request, because it is overloaded, starting or stopping;
 * `undefined` when it does not ask for that. The rule is client-go's (rest/with_retry.go).
 */
const retryDelayOf = ({ status, retryAfter }: KubeError): Ms | undefined =>
  status === 429 || status >= 500 ? retryAfter : undefined;
