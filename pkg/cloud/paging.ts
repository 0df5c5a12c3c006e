import * as E from 'fp-ts/lib/Either.js';
import type { AwsFailure, AwsService } from './failure.ts';
import type { Call } from './types.ts';

export interface Page<A> {
  readonly items: readonly A[];
  /** Where the next page begins; absent on the last. `''` where there should be one and is not. */
  readonly next: string | undefined;
}

/**
 * All items of a listing, page by page, each page a call of its own. A listing that has no end, or whose end is missing,
 * is a failure: what is left out of it would be taken for absent.
 */
export function allPages<A>(
  of: { readonly service: AwsService; readonly operation: string },
  page: (token: string | undefined) => Call<Page<A>>,
): Call<readonly A[]> {
  return async () => {
    const items: A[] = [];
    const seen = new Set<string>(['']);
    let token: string | undefined;
    for (;;) {
      const result: E.Either<AwsFailure, Page<A>> = await page(token)();
      if (E.isLeft(result)) {
        return result;
      }
      items.push(...result.right.items);
      token = result.right.next;
      if (token === undefined) {
        return E.right(items);
      }
      if (seen.has(token)) {
        return E.left({ ...of, code: 'Undecodable', message: 'the listing has no end' });
      }
      seen.add(token);
    }
  };
}
