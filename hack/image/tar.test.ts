import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import type { Entry } from './tar.ts';
import { tar } from './tar.ts';

const file = (path: string, text: string, mode = 0o644): Entry => ({
  kind: 'file',
  path,
  mode,
  content: Buffer.from(text),
});
const ENTRIES: readonly Entry[] = [
  file('usr/bin/node', 'binary', 0o755),
  file('a', 'x'.repeat(1_000)),
  { kind: 'symlink', path: 'lib', target: 'usr/lib' },
  { kind: 'directory', path: 'tmp' },
];

describe('tar', () => {
  it('writes archives that the system reads', () => {
    const list = execFileSync('tar', ['--list', '--verbose', '--numeric-owner', '--utc', '--file', '-'], {
      input: tar(ENTRIES),
      encoding: 'utf8',
    });
    expect(
      list
        .trim()
        .split('\n')
        .map((line) => line.replaceAll(/\s+/g, ' ')),
    ).to.deep.equal([
      '-rw-r--r-- 0/0 1000 1970-01-01 00:00 a',
      'lrwxrwxrwx 0/0 0 1970-01-01 00:00 lib -> usr/lib',
      'drwxr-xr-x 0/0 0 1970-01-01 00:00 tmp/',
      'drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/',
      'drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/bin/',
      '-rwxr-xr-x 0/0 6 1970-01-01 00:00 usr/bin/node',
    ]);
    const [content] = [execFileSync('tar', ['--extract', '--to-stdout', '--file', '-', 'a'], { input: tar(ENTRIES) })];
    expect(content.toString()).to.equal('x'.repeat(1_000));
  });

  it('gives the same bytes for the same entries in another order', () => {
    expect(tar(ENTRIES.toReversed()).equals(tar(ENTRIES))).to.equal(true);
  });

  it('refuses a path that is too long for the format', () => {
    expect(() => tar([file('x'.repeat(101), '')])).to.throw('is too long for a tar archive');
  });
});
