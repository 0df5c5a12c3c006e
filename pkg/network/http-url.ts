/** Parses an absolute URL of http or https; `undefined` when the text is none. */
export const parseHttpUrl = (text: string): URL | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined;
};

/** Replaces the user and the password in the text of a URL, which may be malformed. Both stand before the last `@`. */
export const withoutPassword = (url: string): string => url.replace(/^([^/]*\/\/)?.*@/s, '$1***@');
