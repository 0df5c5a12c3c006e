import { isDate } from 'node:util/types';
import * as E from 'fp-ts/lib/Either.js';
import type { Ms } from 'controller-runtime/env';
import type { AwsFailure, AwsService } from '../errors/failure.ts';
import type { Call, CallFactory } from './call.ts';
import { isNotFound } from '../errors/error-codes.ts';
import * as s from 'controller-runtime/schema';

export interface Page<A> {
  readonly items: readonly A[];
  /** `undefined` on the last page, `''` if AWS announces a next page without a token. */
  readonly next: string | undefined;
}

/**
 * Returns the items of all pages. Fails if AWS repeats or omits a token, because callers assume that resources that are
 * not in the list do not exist.
 */
export async function listAllPages<A>(
  of: { readonly service: AwsService; readonly operation: string },
  page: (token: string | undefined) => Call<Page<A>>,
): Call<readonly A[]> {
  const items: A[] = [];
  const seen = new Set<string>(['']);
  let token: string | undefined;
  for (;;) {
    const result: E.Either<AwsFailure, Page<A>> = await page(token);
    if (E.isLeft(result)) return result;
    items.push(...result.right.items);
    token = result.right.next;
    if (token === undefined) return E.right(items);
    if (seen.has(token)) return E.left({ ...of, code: 'Undecodable', message: 'the listing has no end' });
    seen.add(token);
  }
}

/** Returns `undefined` for a NotFound failure, like controller-runtime's IgnoreNotFound. */
export async function ignoreNotFound<A>(call: Call<A>): Call<A | undefined> {
  const response = await call;
  return E.isLeft(response) && isNotFound(response.left) ? E.right(undefined) : response;
}

/** Decodes a Date, which the SDK returns for each time, to ms since 1970. */
export const Time = s.refine(s.anything(), (date): E.Either<string, Ms> =>
  isDate(date) ? E.right(date.getTime()) : E.left('a time'),
);

const EmptyResponse = s.view(s.anything(), (): void => undefined);

/** Makes a change in AWS whose response is ignored. */
export const mutate = (call: CallFactory, operation: string, send: () => Promise<unknown>): Call<void> =>
  call({ operation, kind: 'mutation', send, response: EmptyResponse });
