import { execFileSync } from 'node:child_process';

function git(root: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    // Without git, or in a source archive, only the version in package.json is known.
    return undefined;
  }
}

/**
 * Returns the version of a build. On the tag `v0.1.0` and outside of a git checkout, it is `v0.1.0`, otherwise
 * `v0.1.0+<commit>`. If the sources differ from the commit, `.dirty` follows; on the tag, the version is then
 * `v0.1.0+v0.1.0.dirty`.
 */
export function versionOf(root: string, packageVersion: string): string {
  const version = `v${packageVersion}`;
  const described = git(root, 'describe', '--always', '--tags', '--dirty=.dirty', '--abbrev=12', '--match', version);
  return described === undefined || described === version ? version : `${version}+${described.replace(/^.*-g/, '')}`;
}
