import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { collectNotices, isPermissive, packageDirectories, renderNotices } from './notices.ts';

describe('isPermissive', () => {
  for (const expression of [
    'MIT',
    'Apache-2.0',
    '(MIT OR GPL-3.0-only)',
    'GPL-2.0-only OR ISC',
    '(MIT AND Apache-2.0)',
  ]) {
    it(`accepts ${expression}`, () => expect(isPermissive(expression)).to.equal(true));
  }
  for (const expression of [
    'GPL-3.0-only',
    'MIT AND LGPL-3.0-or-later',
    'SEE LICENSE IN FILE',
    'UNLICENSED',
    '',
    'mit',
  ]) {
    it(`refuses "${expression}"`, () => expect(isPermissive(expression)).to.equal(false));
  }
});

describe('collectNotices and renderNotices', () => {
  let root = '';
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'notices-'));
    await writeFile(join(root, 'LICENSE'), 'the text of Apache-2.0');
  });
  after(async () => {
    await rm(root, { recursive: true });
  });

  async function install(
    name: string,
    license: string | undefined,
    files: Readonly<Record<string, string>>,
  ): Promise<void> {
    const directory = join(root, 'node_modules', name);
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'package.json'), JSON.stringify({ name, version: '1.0.0', license }));
    for (const [file, content] of Object.entries(files)) await writeFile(join(directory, file), content);
  }

  it('find each package once, including scoped and nested packages', () => {
    const directories = packageDirectories('/r', [
      'pkg/version.ts',
      'node_modules/a/lib/x.js',
      'node_modules/a/lib/y.js',
      'node_modules/@s/b/index.js',
      'node_modules/a/node_modules/c/index.js',
    ]);
    expect(directories).to.deep.equal([
      '/r/node_modules/@s/b',
      '/r/node_modules/a',
      '/r/node_modules/a/node_modules/c',
    ]);
  });

  it('render name, version, licence and texts, and equal texts once', async () => {
    await install('a', 'MIT', { 'LICENSE.md': 'Copyright A' });
    await install('b', 'Apache-2.0', { LICENSE: 'long text', NOTICE: 'made by B' });
    await install('c', 'MIT', { LICENCE: 'Copyright A' });
    const inputs = ['node_modules/a/x.js', 'node_modules/b/x.js', 'node_modules/c/x.js'];
    const notices = renderNotices(collectNotices(root, inputs));
    expect(notices).to.contain('a 1.0.0 (MIT)\nc 1.0.0 (MIT)\n\nCopyright A\n');
    expect(notices).to.contain('b 1.0.0 (Apache-2.0)\n\nlong text\n\nmade by B\n');
  });

  it('add the text of Apache-2.0 if the package has none', async () => {
    await install('textless', 'Apache-2.0', {});
    expect(collectNotices(root, ['node_modules/textless/x.js'])[0]?.texts).to.deep.equal(['the text of Apache-2.0']);
  });

  it('report all packages with an unknown, a missing or a copyleft licence at once', async () => {
    await install('copyleft', 'GPL-3.0-only', { LICENSE: 'x' });
    await install('unnamed', undefined, { LICENSE: 'x' });
    await install('without-text', 'MIT', {});
    const inputs = ['node_modules/copyleft/x.js', 'node_modules/unnamed/x.js', 'node_modules/without-text/x.js'];
    expect(() => collectNotices(root, inputs)).to.throw(
      Error,
      'The bundle may not be shipped:\n' +
        '  copyleft@1.0.0: licence "GPL-3.0-only" is not known to be permissive\n' +
        '  unnamed@1.0.0: licence "" is not known to be permissive\n' +
        '  without-text@1.0.0: ships no licence text',
    );
  });
});
