import { cut, toPrintableLine } from 'controller-runtime/text';

/** In characters, as an ARN. A line of output has room for three such words in quotes, so it never ends inside them. */
const MAX_WORD = 2_048;

/**
 * A command that a user pastes into a POSIX shell. The shell expands, splits and executes no word, whatever it contains.
 *
 * The program that runs has options of its own. So a value of others stands after `--`, or is a part of its word:
 * `--option=value`, `kind/name`.
 */
export const shellCommand = (words: readonly string[]): string => words.map(shellQuoted).join(' ');

/** A word that begins with `=` is the path of a program in zsh. */
function shellQuoted(word: string): string {
  const text = cut(toPrintableLine(cut(word, MAX_WORD)), MAX_WORD);
  return /^[\w+,.@:/-][\w+=,.@:/-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
