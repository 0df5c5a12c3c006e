import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect } from 'chai';
import { ROOT } from './blocks.ts';

const PAGES = globSync(['*.md', 'docs/**/*.md', 'test/*/README.md'], { cwd: ROOT });
/**
 * Files besides the Markdown pages that refer to documentation pages, for example in comments, annotations and
 * messages.
 */
const OTHERS = globSync(
  [
    '.ci/*',
    '.github/**/*.yaml',
    'Makefile',
    '{api,cmd,config,controllers,hack,pkg,templates}/**/*.{ts,yaml,json,lua,sh}',
  ],
  { cwd: ROOT },
);
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const withoutCode = (text: string): string =>
  text.replaceAll(/^( *)```[^]*?^\1```$/gm, '').replaceAll(/`[^`\n]*`/g, '');

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(text: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  const headings = text.replaceAll(/^( *)```[^]*?^\1```$/gm, '').matchAll(/^#+ (.+)$/gm);
  for (const [, heading = ''] of headings) {
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  for (const [, id = ''] of text.matchAll(/<a id="([^"]+)">/g)) anchors.add(id);
  return anchors;
}

/** Returns a text about what is wrong with a link on `page`; undefined if the target of the link exists. */
function problemOf(page: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  if (target.startsWith('..')) return `${page}: ${link} leaves the repository`;
  if (!existsSync(join(ROOT, target))) return `${page}: ${link}: there is no ${target}`;
  if (anchor === undefined) return undefined;
  return anchorsOf(read(target)).has(anchor) ? undefined : `${page}: ${link}: ${target} has no such heading`;
}

const linksOf = (text: string): readonly string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^[a-z]+:/.test(link));

describe('the paths in the documents', () => {
  it('are those of files that exist, whole or in part', () => {
    const files = globSync('{api,cmd,config,controllers,docs,hack,pkg,templates,test,tools}/**', { cwd: ROOT });
    const inCode = /`((?:[\w-]+\/)*[\w.-]*\w\.ts|(?:api|cmd|config|controllers|hack|pkg|test|tools)\/[\w./-]+\w)`/g;
    const named = PAGES.flatMap((page) => [...read(page).matchAll(inCode)].map(([, path = '']) => ({ page, path })));
    expect(named.length).to.be.greaterThan(100);
    const exists = (path: string): boolean => files.some((file) => `/${file}`.endsWith(`/${path}`));
    expect(named.filter(({ path }) => !exists(path))).to.deep.equal([]);
  });
});

describe('the links of the documents', () => {
  it('lead to a file and a heading that exist', () => {
    const links = PAGES.flatMap((page) => linksOf(withoutCode(read(page))).map((link) => ({ page, link })));
    expect(links.length).to.be.greaterThan(100);
    expect(links.flatMap(({ page, link }) => problemOf(page, link) ?? [])).to.deep.equal([]);
  });

  it('in code, manifests and messages lead to a page and a heading that exist', () => {
    const named = OTHERS.flatMap((file) =>
      [...read(file).matchAll(/\bdocs\/(?:adr\/)?[\w-]+\.md(?:#[\w-]+)?/g)].map(([link]) => ({ file, link })),
    );
    expect(named.length).to.be.greaterThan(10);
    expect(
      named.flatMap(({ file, link }) => (problemOf('', link) === undefined ? [] : `${file}: ${link}`)),
    ).to.deep.equal([]);
  });

  it('reach each page from docs/README.md', () => {
    const linked = linksOf(read('docs/README.md')).map((link) => normalize(join('docs', link)));
    const missing = PAGES.filter(
      (page) => page.startsWith('docs') && page !== 'docs/README.md' && !linked.includes(page),
    );
    expect(missing).to.deep.equal([]);
  });

  it('have the anchors of GitHub', () => {
    const text = '# A `b`: c/d\n## Same\n## Same\n```sh\n# no heading\n```\n### [Link](x.md) 1.2\n';
    expect([...anchorsOf(text)]).to.deep.equal(['a-b-cd', 'same', 'same-1', 'link-12']);
  });
});
