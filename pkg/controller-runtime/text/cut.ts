// Users, servers, and other controllers choose the texts that this program handles. Each text is cut before it is
// processed, so that it cannot block the process or make an object too large for the API server.

/** The longest text from outside of this program, such as a server's error message, in UTF-16 code units. */
export const MAX_FACT = 4_096;

/**
 * The CRD's `maxLength` of a condition's message, in UTF-16 code units, as in `metav1.Condition`. The API server would
 * refuse a status with a longer message.
 */
export const MAX_MESSAGE = 32_768;

/**
 * Returns at most `max` UTF-16 code units, with an ellipsis if the text is longer. Never splits a surrogate pair: the
 * API server would store U+FFFD for half a pair, so the text would always differ from the stored text.
 */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = max - 1;
  return `${text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end)}…`;
}

const isHighSurrogate = (codeUnit: number): boolean => codeUnit >= 0xd800 && codeUnit <= 0xdbff;
