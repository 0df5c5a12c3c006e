/**
 * Splits a stream of UTF-8 bytes into lines, wherever the chunks were cut: between lines, within one, within a character.
 * The last line is yielded without its newline only if it has one; a rest without newline is handed to `onRest`.
 */
export async function* lines(body: AsyncIterable<Uint8Array>, onRest: (rest: string) => void): AsyncGenerator<string> {
  // One decoder for the stream: it keeps the first bytes of a character until the others come.
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
