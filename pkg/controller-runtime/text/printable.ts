import { MAX_MESSAGE, cut } from './cut.ts';

/**
 * Matches the hidden characters in a text, which are of four kinds:
 *
 * - characters that a terminal executes: control characters except tab and line feed;
 * - characters that change the order of the text around them: Unicode's Bidi_Control, UAX #9;
 * - characters that begin a line in some viewers: line and paragraph separators;
 * - halves of surrogate pairs, which UTF-8 cannot encode: the API server would store U+FFFD instead.
 */
const HIDDEN = /[^\P{Cc}\t\n]|\p{Bidi_Control}|[\u2028\u2029]|\p{Cs}/gu;

export const hasHidden = (text: string): boolean => text.search(HIDDEN) !== -1;

/**
 * Replaces each hidden character with its escape sequence in JSON, for example `\u202e`. A JSON text keeps its meaning.
 */
export const escapeHidden = (text: string): string =>
  text.replace(HIDDEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Escapes hidden characters and joins the lines, so that a line of the text cannot imitate another message. */
export function toPrintableLine(text: string): string {
  const lines = cut(text, MAX_MESSAGE)
    .split('\n')
    .map((line) => line.trim());
  return cut(escapeHidden(lines.filter((line) => line !== '').join(' ')), MAX_MESSAGE);
}
