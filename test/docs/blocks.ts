import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Suite } from 'mocha';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A fenced code block of a Markdown page. */
export interface Block {
  /** The path of the page in the repository. */
  readonly page: string;
  /** The number of the line where the code block begins. The first line of the page has the number 1. */
  readonly line: number;
  readonly language: string;
  /** The text of the code block without its fences and its indentation. */
  readonly text: string;
  /**
   * The path of the file that runs the code block. The line `<!-- tested by FILE -->` above the block names this file.
   */
  readonly testedBy?: string;
  /** Why no test runs the code block. The line `<!-- not run: REASON -->` above the block gives the reason. */
  readonly notRun?: string;
}

/** Returns the paths of all documentation pages: the Markdown files in the root of the repository and in docs. */
export const pages = (): readonly string[] =>
  globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT })
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted();

export const readPage = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

const FENCE = /^( *)```(\w*)$/;

/** Returns all fenced code blocks of a Markdown page, in their order. */
export function blocksOf(page: string, content = readPage(page)): readonly Block[] {
  const lines = content.split('\n');
  const blocks: Block[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const [, indentation, language = ''] = FENCE.exec(lines[index] ?? '') ?? [];
    if (indentation === undefined) continue;
    const end = lines.indexOf(`${indentation}\`\`\``, index + 1);
    if (end === -1) throw new Error(`${page}:${index + 1}: the block has no end`);
    const text = lines.slice(index + 1, end).map((line) => `${line.slice(indentation.length)}\n`);
    blocks.push({ page, line: index + 1, language, text: text.join(''), ...marksAbove(lines, index) });
    index = end;
  }
  return blocks;
}

function marksAbove(lines: readonly string[], fence: number): Pick<Block, 'testedBy' | 'notRun'> {
  const mark = lines[fence - 1] ?? '';
  const [, testedBy] = /^ *<!-- tested by (\S+) -->$/.exec(mark) ?? [];
  const [, notRun] = /^ *<!-- not run: (.+) -->$/.exec(mark) ?? [];
  return { ...(testedBy !== undefined && { testedBy }), ...(notRun !== undefined && { notRun }) };
}

/**
 * The code blocks of a documentation page that a test file runs, in the order of the page. After all tests of the file
 * have passed, a Mocha hook fails if the file has left out a block.
 */
export interface TestedBlocks {
  /**
   * Returns the next code block.
   * @throws if no code block is left, or if the text of the next block does not contain `text`
   */
  next(text: string): string;
}

/**
 * Returns the code blocks of `page` that the test file runs. Also adds an `after` hook that fails if the tests have
 * left out a block. The file must add its other `after` hooks first, because Mocha skips the hooks after a failed hook.
 * @param testFile `import.meta.url` of the test file
 */
export function takeBlocks(page: string, testFile: string): TestedBlocks {
  const name = relative(ROOT, fileURLToPath(testFile)).replaceAll('\\', '/');
  const left = blocksOf(page).filter(({ testedBy }) => testedBy === name);
  if (left.length === 0) throw new Error(`${page} has no block that ${name} runs`);
  after('all blocks of the page have run', function () {
    const suite = this.test?.parent;
    if (left.length > 0 && suite !== undefined && hasPassed(suite))
      throw new Error(
        left.map((block) => `${name} has not run the block at ${place(block)}:\n${block.text}`).join('\n'),
      );
  });
  return {
    next: (text) => {
      const block = left.shift();
      if (block === undefined) throw new Error(`${page} has no more block that ${name} runs; expected: ${text}`);
      if (!block.text.includes(text)) throw new Error(`the block at ${place(block)} lacks ${text}:\n${block.text}`);
      return block.text;
    },
  };
}

export const place = ({ page, line }: Block): string => `${page}:${line}`;

const hasPassed = ({ tests, suites }: Suite): boolean =>
  tests.every(({ state }) => state === 'passed') && suites.every(hasPassed);
