import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { KUBERNETES_VERSION, PLATFORM, versionParts } from './versions.ts';

/**
 * The index of the official envtest archives of Kubernetes, with the sha512 of each archive. The tool setup-envtest
 * uses the same index.
 */
export const ENVTEST_INDEX_URL =
  'https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml';

/**
 * The timeout of the download of the index of envtest archives. It is short because the index is small, and because a
 * blocked network must not delay the tests for long.
 */
const INDEX_TIMEOUT_MS = 10_000;
/** The timeout of the download of an envtest archive, which has about 60 MB. */
const DOWNLOAD_TIMEOUT_MS = 300_000;
/** The binaries that an envtest archive has. */
const ARCHIVED = ['etcd', 'kube-apiserver', 'kubectl'];

interface Archive {
  readonly version: string;
  readonly url: string;
  /** The sha512 of the archive, in hexadecimal. */
  readonly sha512: string;
}

export interface DownloadOptions {
  readonly indexUrl: string;
  /** The cache directory. The binaries are written to its subdirectory `<Kubernetes version>-<platform>`. */
  readonly root: string;
  readonly report: (line: string) => void;
}

/**
 * Downloads the official envtest archive, and extracts etcd, kube-apiserver, and kubectl into the cache directory.
 * Returns the error message if the download fails, otherwise undefined.
 */
export async function downloadArchive({ indexUrl, root, report }: DownloadOptions): Promise<string | undefined> {
  const started = performance.now();
  const temporary = await mkdtemp(join(root, 'tmp-archive-'));
  try {
    const archive = chooseArchive(parse(await fetchText(indexUrl)));
    if (archive === undefined)
      return `${indexUrl} has neither ${KUBERNETES_VERSION} nor another patch of its minor version for ${PLATFORM}`;
    report(`downloading ${archive.url}`);
    const file = join(temporary, 'archive.tar.gz');
    await download(archive, file);
    await promisify(execFile)('tar', ['-xzf', file, '-C', temporary]);
    const entries = await readdir(temporary, { recursive: true });
    const missing = ARCHIVED.find((name) => !entries.some((entry) => basename(entry) === name));
    if (missing !== undefined) return `${archive.url} does not contain ${missing}`;
    const target = join(root, `${archive.version}-${PLATFORM}`);
    await mkdir(target, { recursive: true });
    for (const entry of entries.filter((candidate) => ARCHIVED.includes(basename(candidate)))) {
      await chmod(join(temporary, entry), 0o755);
      await rename(join(temporary, entry), join(target, basename(entry)));
    }
    report(`downloaded Kubernetes ${archive.version}, ${elapsed(started)}`);
    return undefined;
  } catch (error) {
    const problem = `${messageOf(error)} (after ${elapsed(started)})`;
    report(`no envtest archive: ${problem}`);
    return problem;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/**
 * Chooses the envtest archive of the Kubernetes version in test/envtest/go.mod. If the index does not list that
 * archive, chooses the newest patch release of the same minor version.
 */
function chooseArchive(index: unknown): Archive | undefined {
  const [major, minor] = versionParts(KUBERNETES_VERSION);
  const candidates: Archive[] = [];
  for (const [version, archives] of entriesOf(field(index, 'releases'))) {
    if (!version.startsWith(`v${major}.${minor}.`) || version.includes('-')) continue;
    const archive = field(archives, `envtest-${version}-${PLATFORM}.tar.gz`);
    const url = field(archive, 'selfLink');
    const sha512 = field(archive, 'hash');
    if (typeof url === 'string' && typeof sha512 === 'string') candidates.push({ version, url, sha512 });
  }
  candidates.sort((a, b) => b.version.localeCompare(a.version, 'en', { numeric: true }));
  return candidates.find((candidate) => candidate.version === KUBERNETES_VERSION) ?? candidates[0];
}

async function fetchText(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(INDEX_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return response.text();
}

async function download(archive: Archive, path: string): Promise<void> {
  const response = await fetch(archive.url, { signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) });
  if (!response.ok || response.body === null) throw new Error(`${archive.url} answers ${response.status}`);
  const hash = createHash('sha512');
  const file = await open(path, 'w');
  try {
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      hash.update(chunk);
      await file.write(chunk);
    }
  } finally {
    await file.close();
  }
  const actual = hash.digest('hex');
  if (actual !== archive.sha512.toLowerCase())
    throw new Error(`${archive.url} has sha512 ${actual}, but the index has ${archive.sha512}`);
}

function field(value: unknown, key: string): unknown {
  return entriesOf(value).find(([name]) => name === key)?.[1];
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

/**
 * Returns the message of an error and of its cause. If `fetch` fails, the message of its error is only "fetch failed",
 * and the cause has the reason.
 */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

function elapsed(started: number): string {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}
