import * as E from 'fp-ts/lib/Either.js';
import type { AwsFailure } from './failure.ts';
import type { Call } from './types.ts';

export interface Page<A> {
  readonly items: readonly A[];
  /** Where the next page begins; absent on the last. */
  readonly next: string | undefined;
}

/** All items of a listing, page by page, each page a call of its own. */
export function allPages<A>(page: (token: string | undefined) => Call<Page<A>>): Call<readonly A[]> {
  return async () => {
    const items: A[] = [];
    const seen = new Set<string>();
    let token: string | undefined;
    for (;;) {
      const result: E.Either<AwsFailure, Page<A>> = await page(token)();
      if (E.isLeft(result)) {
        return result;
      }
      items.push(...result.right.items);
      token = result.right.next;
      // A listing that leads back to a page it had would never end.
      if (token === undefined || seen.has(token)) {
        return E.right(items);
      }
      seen.add(token);
    }
  };
}
