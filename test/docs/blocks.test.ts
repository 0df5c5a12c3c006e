import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Block, ROOT, blocksOf, pages, place } from './blocks.ts';

/** The languages of the code blocks that a test must run, unless the page gives a reason why no test runs the block. */
const RUN = ['sh', 'yaml', 'json', 'mermaid'];
/** The languages of the code blocks that no test runs, because they only show the output or the input of a program. */
const SHOWN = ['text'];
/**
 * The only accepted reasons why no test runs a code block. Each reason names something that the machine of the tests
 * lacks.
 */
const REASONS = ['needs a kubelet', 'needs a real AWS account'];
/** Matches a line of a code block that begins with a shell command. */
const COMMAND = /^\s*(?:\$|kubectl|clusterctl|make|aws|curl|helm|node|npm|docker)\b/m;
const CI = '.ci/run';

const blocks = pages().flatMap((page) => blocksOf(page));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describe('the blocks of the documents', () => {
  it('have a language that says whether they can run', () => {
    expect(blocks.filter(({ language }) => ![...RUN, ...SHOWN].includes(language)).map(place)).to.deep.equal([]);
    const hidden = blocks.filter(({ language, text }) => SHOWN.includes(language) && COMMAND.test(text));
    expect(hidden.map(place), 'commands in a block of text').to.deep.equal([]);
  });

  it('each name the test that runs them, or the reason why none does', () => {
    const silent = blocks.filter(({ language, testedBy, notRun }) => RUN.includes(language) && !testedBy && !notRun);
    const advice = 'add <!-- tested by FILE --> or <!-- not run: REASON --> above';
    expect(silent.map(place), advice).to.deep.equal([]);
    for (const block of blocks) if (block.notRun !== undefined) expect(block.notRun, place(block)).to.be.oneOf(REASONS);
  });

  for (const block of blocks.filter(({ testedBy }) => testedBy !== undefined))
    it(`are run by the test that they name: ${place(block)}`, () => expectTested(block));

  it('that do not run are few, and none of them installs, upgrades or removes the provider', () => {
    const list = blocks.filter(({ notRun }) => notRun !== undefined).map((block) => `${place(block)}: ${block.notRun}`);
    console.info(`\nBlocks of the documents that no test runs:\n${list.map((line) => `  ${line}\n`).join('')}`);
    expect(list.length).to.be.lessThan(blocks.length / 4);
    const withoutReason = ['install', 'upgrade', 'uninstall', 'migration-from-capa'].map((name) => `docs/${name}.md`);
    expect(blocks.filter(({ page, notRun }) => withoutReason.includes(page) && notRun).map(place)).to.deep.equal([]);
  });
});

function expectTested({ page, testedBy = '', text }: Block): void {
  expect(existsSync(join(ROOT, testedBy)), testedBy).to.equal(true);
  if (testedBy === CI) {
    expect(read(CI).split('\n')).to.include.members(text.trim().split('\n'));
    return;
  }
  expect(testedBy).to.match(/\.test\.ts$/);
  expect(read(testedBy)).to.include(`takeBlocks('${page}', import.meta.url)`);
}

describe('a page', () => {
  const page = [
    'Run this:',
    '',
    '   <!-- tested by test/a.test.ts -->',
    '   ```sh',
    '   kubectl get a',
    '     --all',
    '   ```',
    '',
    'Then run this:',
    '',
    '<!-- not run: needs a kubelet -->',
    '```sh',
    'kubectl logs a',
    '```',
    '```yaml',
    'a: 1',
    '```',
  ].join('\n');

  it('has blocks without their indentation, with the marks above them', () => {
    expect(blocksOf('page.md', page)).to.deep.equal([
      { page: 'page.md', line: 4, language: 'sh', text: 'kubectl get a\n  --all\n', testedBy: 'test/a.test.ts' },
      { page: 'page.md', line: 12, language: 'sh', text: 'kubectl logs a\n', notRun: 'needs a kubelet' },
      { page: 'page.md', line: 15, language: 'yaml', text: 'a: 1\n' },
    ]);
  });

  it('without the end of a block is refused', () => {
    expect(() => blocksOf('page.md', '```sh\nls\n')).to.throw('page.md:1: the block has no end');
  });
});
