import { cut } from './cut.ts';
import { toPrintableLine } from './printable.ts';

/** In characters, as the longest ARN. A line of output has room for three quoted words, so it is never cut in one. */
const MAX_WORD = 2_048;

/**
 * A user can paste the command into a POSIX shell, which does not expand, split or execute any word, whatever it
 * contains.
 *
 * The program could take a value for an option. So callers put a foreign value after `--`, or inside of a word:
 * `--option=value`, `kind/name`.
 */
export const shellCommand = (words: readonly string[]): string => words.map(shellQuoted).join(' ');

/** In zsh, even a word that begins with `=` would be expanded, to the path of a program. */
function shellQuoted(word: string): string {
  const text = cut(toPrintableLine(cut(word, MAX_WORD)), MAX_WORD);
  return /^[\w+,.@:/-][\w+=,.@:/-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
