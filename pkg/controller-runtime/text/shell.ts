import { cut } from './cut.ts';
import { toPrintableLine } from './printable.ts';

/**
 * The longest word, in characters: the length of the longest ARN. Three quoted words of this length are shorter than
 * MAX_MESSAGE, at which a line of output is cut.
 */
const MAX_WORD = 2_048;

/**
 * Returns a command for a user to paste into a POSIX shell, which does not expand, split, or execute any word, whatever
 * it contains.
 *
 * The program in the command could mistake a value for an option. So callers put a value from outside of this program
 * after `--`, or inside of a word: `--option=value`, `kind/name`.
 */
export const shellCommand = (words: readonly string[]): string => words.map(shellQuoted).join(' ');

/** In zsh, even a word that begins with `=` would be expanded, to the path of a program. */
function shellQuoted(word: string): string {
  const text = cut(toPrintableLine(cut(word, MAX_WORD)), MAX_WORD);
  return /^[\w+,.@:/-][\w+=,.@:/-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
