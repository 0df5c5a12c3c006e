import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** What the page is written on: stdout, or a string in tests. */
export interface Paper {
  write(text: string): unknown;
  /** Width of the terminal; absent when it is none. */
  readonly columns?: number | undefined;
}

/** Lines for a person to read. Styles are for terminals alone, and none has a meaning that the words do not have too. */
export class Page {
  readonly #paper: Paper;

  constructor(paper: Paper) {
    this.#paper = paper;
  }

  heading(text: string): void {
    this.#paper.write(`\n${this.#styled('bold', text)}\n`);
  }

  /** A command as one would type it. */
  command(command: string): void {
    this.#paper.write(`${this.#styled('cyan', `$ ${command}`)}\n`);
  }

  line(text = ''): void {
    this.#paper.write(`${text}\n`);
  }

  /** Cells in columns of these widths; the last cell takes what is left, and is continued below its own beginning. */
  row(cells: readonly string[], widths: readonly number[], styles: readonly (Style | undefined)[] = []): void {
    const indent = widths.reduce((sum, width) => sum + width, 0);
    const [last = '', ...before] = cells.toReversed();
    const lines = wrap(last, (this.#paper.columns ?? Infinity) - indent);
    const texts = [...before.toReversed(), lines.join(`\n${' '.repeat(indent)}`)];
    const padded = texts.map((text, index) => this.#styled(styles[index], text.padEnd(widths[index] ?? 0)));
    this.#paper.write(`${padded.join('').trimEnd()}\n`);
  }

  #styled(style: Style | undefined, text: string): string {
    return style === undefined || this.#paper.columns === undefined ? text : styleText(style, text);
  }
}

/** Breaks between words. What has less than 30 columns is left to the terminal. */
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
