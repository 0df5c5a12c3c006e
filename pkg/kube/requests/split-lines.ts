/**
 * Yields the lines of a UTF-8 stream, without their newlines and without empty lines. A chunk of the stream may end
 * anywhere, also within a character. If the stream ends with text after the last newline, calls `onRest` with that
 * text.
 */
export async function* splitLines(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onRest: (rest: string) => void,
): AsyncGenerator<string> {
  // One decoder for the whole stream: it keeps the bytes of an incomplete character for the next chunk.
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const line = rest + text.slice(start, end);
      rest = '';
      start = end + 1;
      if (line !== '') yield line;
    }
    rest += text.slice(start);
  }
  rest += decoder.decode();
  if (rest !== '') onRest(rest);
}
