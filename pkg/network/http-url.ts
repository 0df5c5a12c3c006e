/** Parses an absolute URL of http or https; `undefined` when the text is no such URL. */
export const parseHttpUrl = (text: string): URL | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined;
};

/**
 * Masks the user and the password in the text of a URL, so that messages do not show them. The URL may be malformed:
 * all text between `//` and the last `@` is replaced.
 */
export const withoutPassword = (url: string): string => url.replace(/^([^/]*\/\/)?.*@/s, '$1***@');
