import { execFileSync } from 'node:child_process';

function git(root: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    // No git, or a source archive: the version of package.json is all that is known.
    return undefined;
  }
}

/**
 * The version to stamp: `v0.1.0` on its own tag and outside a checkout, else `v0.1.0+<commit>`, with `.dirty` behind it
 * when the sources differ from the commit.
 */
export function versionOf(root: string, packageVersion: string): string {
  const version = `v${packageVersion}`;
  const described = git(root, 'describe', '--always', '--tags', '--dirty=.dirty', '--abbrev=12', '--match', version);
  return described === undefined || described === version ? version : `${version}+${described.replace(/^.*-g/, '')}`;
}
