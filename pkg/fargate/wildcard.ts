/**
 * `*` matches any number of characters, `?` exactly one. Users choose patterns, so the time must not grow faster than
 * the product of the two lengths: after a mismatch, matching continues only from the latest `*`, because an earlier `*`
 * never gives a match that the latest one misses. `isSame` compares two characters, neither of which is a `*` of the
 * pattern.
 */
export function matchesWildcard(
  pattern: string,
  text: string,
  isSame = (inPattern: string | undefined, inText: string | undefined): boolean =>
    inPattern === '?' || inPattern === inText,
): boolean {
  let at = 0;
  /** The index after the pattern's latest `*`, and the index in the text at which the part that it matches ends. */
  let star: { readonly next: number; end: number } | undefined;
  for (let index = 0; index < text.length;) {
    if (pattern[at] === '*') {
      at += 1;
      star = { next: at, end: index };
    } else if (at < pattern.length && isSame(pattern[at], text[index])) {
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

/** True if some text matches both patterns. */
export function doWildcardsMeet(one: string, other: string): boolean {
  const [first, last] = [one.indexOf('*'), one.lastIndexOf('*')];
  const [otherFirst, otherLast] = [other.indexOf('*'), other.lastIndexOf('*')];
  if (first < 0) return matchesWildcard(other, one, canBeSame);
  if (otherFirst < 0) return matchesWildcard(one, other, canBeSame);
  // A `*` of one pattern can match everything that the other has between its first and last `*`, so only the texts
  // before the first `*` and after the last `*` can conflict.
  const atStart = Math.min(first, otherFirst);
  const atEnd = Math.min(one.length - 1 - last, other.length - 1 - otherLast);
  for (let index = 0; index < atStart; index++) if (!canBeSame(one[index], other[index])) return false;
  for (let index = 1; index <= atEnd; index++) if (!canBeSame(one.at(-index), other.at(-index))) return false;
  return true;
}

/** True only if every text that matches `special` also matches `general`. */
export const doesWildcardCover = (general: string, special: string): boolean =>
  matchesWildcard(general, special, (inGeneral, inSpecial) =>
    inSpecial === '*' ? false : inGeneral === '?' || inGeneral === inSpecial,
  );

const canBeSame = (one: string | undefined, other: string | undefined): boolean =>
  one === '?' || other === '?' || one === other;
