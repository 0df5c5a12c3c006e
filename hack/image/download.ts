import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';

/** A package of Debian. `path` is relative to the archive of Debian. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly path: string;
  readonly sha256: string;
}

/** A package of the npm registry. `integrity` is the hash of its archive, as in package-lock.json. */
export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

/** How long the download of one Debian package, or one call of apt-get, may take, in milliseconds. */
const DEBIAN_TIMEOUT_MS = 120_000;
/** How long npm waits for one answer of its registry before it asks again, in milliseconds. npm's default is 5 minutes. */
const NPM_FETCH_MS = 60_000;
/**
 * How long the download of one npm package may take, in milliseconds. This includes npm's own retries when its registry
 * does not answer.
 */
const NPM_TIMEOUT_MS = 5 * NPM_FETCH_MS;

function cacheDirectory(): string {
  const directory = join(
    process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'),
    'cluster-api-provider-aws-fargate',
    'image',
  );
  mkdirSync(directory, { recursive: true });
  return directory;
}

/**
 * Returns the URLs of the Debian archives from which packages are downloaded: the environment variable
 * `DEBIAN_ARCHIVE`, otherwise the archives that apt uses on this machine. An archive removes a version of a package
 * when a newer one replaces it. So a build of an older commit needs a `DEBIAN_ARCHIVE` that keeps all versions.
 * @throws if apt is missing and `DEBIAN_ARCHIVE` is not set
 */
function debianArchives(): readonly string[] {
  const chosen = process.env['DEBIAN_ARCHIVE'];
  if (chosen) return [chosen];
  try {
    const sites = execFileSync('apt-get', ['indextargets', '--format', '$(SITE)', 'Created-By: Packages'], {
      encoding: 'utf8',
      timeout: DEBIAN_TIMEOUT_MS,
    });
    return [...new Set(sites.split('\n').filter((site) => site !== ''))];
  } catch (cause) {
    throw new Error('asking apt-get for its Debian archives; or set DEBIAN_ARCHIVE to the address of one', { cause });
  }
}

/**
 * Returns the path of a Debian package in the cache, and downloads the package if it is missing.
 * @throws if no archive has the package, or if the package does not have the expected hash
 */
export async function fetchDebianPackage({ path, sha256 }: DebianPackage): Promise<string> {
  const cached = join(cacheDirectory(), basename(path));
  if (existsSync(cached)) return verified(cached, 'sha256', sha256, 'hex');
  const problems: string[] = [];
  for (const archive of debianArchives()) {
    try {
      const response = await fetch(`${archive}/${path}`, { signal: AbortSignal.timeout(DEBIAN_TIMEOUT_MS) });
      if (!response.ok) throw new Error(`status ${response.status}`);
      const content = Buffer.from(await response.arrayBuffer());
      return keep(cached, content, 'sha256', sha256, 'hex');
    } catch (error) {
      problems.push(`${archive}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(
    `no Debian archive has ${path}; set DEBIAN_ARCHIVE to the address of one that keeps all versions:\n  ${problems.join('\n  ')}`,
  );
}

/** Returns the path of the archive of an npm package in the cache, and downloads it with npm if it is missing. */
export function fetchNpmPackage({ name, version, integrity }: NpmPackage): string {
  const [algorithm = '', hash = ''] = integrity.split(/-(.*)/);
  const cached = join(cacheDirectory(), `${name}-${version}.tgz`);
  if (existsSync(cached)) return verified(cached, algorithm, hash, 'base64');
  const temporary = mkdtempSync(join(cacheDirectory(), 'tmp-'));
  try {
    const target = ['--pack-destination', temporary, `--fetch-timeout=${NPM_FETCH_MS}`, '--loglevel', 'error'];
    execFileSync('npm', ['pack', `${name}@${version}`, ...target], {
      timeout: NPM_TIMEOUT_MS,
      // npm gets MACHINE_PATH, the PATH without the Node.js of node_modules, so that the machine's own npm and Node.js
      // run. They have the settings of the machine, such as the certificates of a proxy.
      env: { ...process.env, PATH: process.env['MACHINE_PATH'] ?? process.env['PATH'] },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [archive = ''] = readdirSync(temporary);
    return keep(cached, readFileSync(join(temporary, archive)), algorithm, hash, 'base64');
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/**
 * Verifies the hash of a downloaded file, and writes the file to the cache. The rename is atomic, so that no reader
 * sees half of the file.
 */
function keep(path: string, content: Buffer, algorithm: string, hash: string, encoding: 'hex' | 'base64'): string {
  const actual = createHash(algorithm).update(content).digest(encoding);
  if (actual !== hash) throw new Error(`${basename(path)} has the ${algorithm} ${actual} instead of ${hash}`);
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, content);
  renameSync(temporary, path);
  return path;
}

function verified(path: string, algorithm: string, hash: string, encoding: 'hex' | 'base64'): string {
  const actual = createHash(algorithm).update(readFileSync(path)).digest(encoding);
  if (actual === hash) return path;
  throw new Error(`${path} has the ${algorithm} ${actual} instead of ${hash}; remove it`);
}
