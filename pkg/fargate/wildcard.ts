/**
 * `*` matches any number of characters, `?` exactly one. Users choose patterns, so the time must not grow faster than
 * the product of the two lengths: a mismatch continues after the latest `*` only, because an earlier one never gives a
 * match that the latest one misses.
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  let at = 0;
  /** The index behind the latest `*` of the pattern, and the index in the text up to which this `*` matches. */
  let star: { readonly next: number; end: number } | undefined;
  for (let index = 0; index < text.length;) {
    if (pattern[at] === '*') {
      at += 1;
      star = { next: at, end: index };
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[index])) {
      at += 1;
      index += 1;
    } else if (star !== undefined) {
      star.end += 1;
      at = star.next;
      index = star.end;
    } else return false;
  }
  while (pattern[at] === '*') at += 1;
  return at === pattern.length;
}
