import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { versionOf } from './version.ts';

describe('versionOf', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'version-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  function git(...args: readonly string[]): string {
    const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'commit.gpgsign=false'];
    return execFileSync('git', [...identity, ...args], { cwd: directory, encoding: 'utf8', stdio: 'pipe' }).trim();
  }
  function commit(text: string): string {
    writeFileSync(join(directory, 'file'), text);
    git('add', 'file');
    git('commit', '-qm', text);
    return git('rev-parse', '--short=12', 'HEAD');
  }

  it('is the version of package.json outside of a git checkout', () => {
    expect(versionOf(directory, '0.1.0')).to.equal('v0.1.0');
  });

  it('has the commit between releases, and .dirty if the sources differ from the commit', () => {
    git('init', '-q');
    const first = commit('one');
    expect(versionOf(directory, '0.1.0')).to.equal(`v0.1.0+${first}`);
    writeFileSync(join(directory, 'file'), 'changed');
    expect(versionOf(directory, '0.1.0')).to.equal(`v0.1.0+${first}.dirty`);
  });

  it('has no suffix on its own tag only', () => {
    git('init', '-q');
    commit('one');
    git('tag', 'v0.1.0');
    expect(versionOf(directory, '0.1.0')).to.equal('v0.1.0');
    writeFileSync(join(directory, 'file'), 'changed');
    expect(versionOf(directory, '0.1.0')).to.match(/^v0\.1\.0\+.+\.dirty$/);
    const next = commit('two');
    expect(versionOf(directory, '0.1.0')).to.equal(`v0.1.0+${next}`);
    expect(versionOf(directory, '0.2.0')).to.equal(`v0.2.0+${next}`);
  });
});
