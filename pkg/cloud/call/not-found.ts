import * as E from 'fp-ts/lib/Either.js';
import { isNotFound } from '../errors/errors.ts';
import type { Call } from './aws-call.ts';

/**
 * Makes an AWS call succeed with `undefined` when AWS does not find the requested object, as controller-runtime's
 * IgnoreNotFound does for Kubernetes objects.
 */
export function ignoreNotFound<A>(call: Call<A>): Call<A | undefined> {
  return async () => {
    const response = await call();
    return E.isLeft(response) && isNotFound(response.left) ? E.right(undefined) : response;
  };
}
