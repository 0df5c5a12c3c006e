import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { LIMIT_FLAGS } from '../../cmd/manager/flags/operator-limit-flags.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(join(root, 'docs/security.md'), 'utf8');

describe('docs/security.md', () => {
  const named = [...page.matchAll(/`([\w./-]+\.test\.ts)`: "([^"]+)"/g)].map(([, file = '', title = '']) => ({
    file,
    title,
  }));

  it('names a test in each row of its tables', () => {
    const rows = page.split('\n').filter((line) => /^\| (?!-|The |It )/.test(line));
    expect(rows.length).to.be.greaterThan(15);
    expect(named).to.have.length(rows.length);
  });

  for (const { file, title } of named)
    it(`names a test that exists: ${title}`, () => {
      expect(existsSync(join(root, file)), file).to.equal(true);
      const text = readFileSync(join(root, file), 'utf8');
      expect([`it('${title}'`, `name: '${title}'`].filter((each) => text.includes(each))).not.to.deep.equal([]);
    });

  it('names the flags that limit what objects may ask for', () => {
    for (const { name } of LIMIT_FLAGS) expect(page).to.include(`\`--${name}\``);
  });
});
