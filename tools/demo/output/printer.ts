import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** The destination of the demo's output: stdout, or a string in tests. */
export interface PrintTarget {
  write(text: string): unknown;
  /** The width of the terminal in characters; undefined when the output is not a terminal. */
  readonly columns?: number | undefined;
}

/** Prints lines for users. Only a terminal shows styles such as colors, so each line must be clear without them. */
export class Printer {
  readonly #target: PrintTarget;

  constructor(target: PrintTarget) {
    this.#target = target;
  }

  heading(text: string): void {
    this.#target.write(`\n${this.#styled('bold', text)}\n`);
  }

  /** Prints a shell command with the prompt `$`. */
  command(command: string): void {
    this.#target.write(`${this.#styled('cyan', `$ ${command}`)}\n`);
  }

  line(text = ''): void {
    this.#target.write(`${text}\n`);
  }

  /** Prints cells in columns of the given widths. The last cell wraps into further lines within its column. */
  row(cells: readonly string[], widths: readonly number[], styles: readonly (Style | undefined)[] = []): void {
    const indent = widths.reduce((sum, width) => sum + width, 0);
    const [last = '', ...before] = cells.toReversed();
    const lines = wrap(last, (this.#target.columns ?? Infinity) - indent);
    const texts = [...before.toReversed(), lines.join(`\n${' '.repeat(indent)}`)];
    const padded = texts.map((text, index) => this.#styled(styles[index], text.padEnd(widths[index] ?? 0)));
    this.#target.write(`${padded.join('').trimEnd()}\n`);
  }

  #styled(style: Style | undefined, text: string): string {
    return style === undefined || this.#target.columns === undefined ? text : styleText(style, text);
  }
}

/**
 * Breaks the text into lines of at most `width` characters between words. If `width` is below 30, returns one line and
 * leaves the breaks to the terminal.
 */
function wrap(text: string, width: number): readonly string[] {
  if (width < 30) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
