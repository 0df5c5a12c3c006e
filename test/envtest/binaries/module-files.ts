import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type BinaryName, BinariesMissing, cacheRoot } from './binaries.ts';
import { moduleDirectory } from './gobuild.ts';
import { CLUSTER_API_VERSION } from './versions.ts';

/** A Go module with files that tests need. */
export interface ModuleFiles {
  /** The path and the version of the module, e.g. `sigs.k8s.io/cluster-api@v1.14.2`. */
  readonly module: string;
  /**
   * The name of the cache directory for the files. It must contain the version of the module, because an existing
   * directory is never updated.
   */
  readonly name: string;
  /** The binary that needs the files. The error message for missing files names it. */
  readonly neededBy: BinaryName;
}

/**
 * Returns a directory in the cache of binaries with files from a Go module. If the directory is missing, downloads the
 * module and lets `write` write the files, so that later test runs do not need Go.
 * @param write writes the files to the given directory, from the directory of the module
 * @throws {BinariesMissing} if the directory is missing and Go is not installed; Error if the download fails
 */
export async function cachedFromModule(
  { module, name, neededBy }: ModuleFiles,
  write: (module: string, directory: string) => Promise<void>,
): Promise<string> {
  const root = cacheRoot();
  const cached = join(root, name);
  if (await exists(cached)) return cached;
  const downloaded = await downloadModule(module, neededBy);
  await mkdir(root, { recursive: true });
  const temporary = await mkdtemp(join(root, `tmp-${name}-`));
  try {
    await write(downloaded, temporary);
    // If another test process has put the same files into the cache in the meantime, the rename fails and the existing
    // files are used.
    await rename(temporary, cached).catch(async (error: unknown) => {
      if (!(await exists(cached))) throw error;
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return cached;
}

/**
 * Calls {@link cachedFromModule} for the Go module of Cluster API. The name of the cache directory ends with `name`.
 */
export const cachedFromClusterApi = (
  name: string,
  write: (module: string, directory: string) => Promise<void>,
): Promise<string> =>
  cachedFromModule(
    {
      module: `sigs.k8s.io/cluster-api@${CLUSTER_API_VERSION}`,
      name: `cluster-api-${CLUSTER_API_VERSION}-${name}`,
      neededBy: 'cluster-api-manager',
    },
    write,
  );

async function downloadModule(module: string, neededBy: BinaryName): Promise<string> {
  try {
    // The go.mod in this directory selects a version of Go that is new enough for the downloaded module.
    const options = { cwd: moduleDirectory(neededBy), env: { ...process.env, GOTOOLCHAIN: 'auto' } };
    const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], options);
    return (JSON.parse(stdout) as { Dir: string }).Dir;
  } catch (error) {
    if (!isNotInstalled(error)) throw new Error(`downloading the Go module ${module}`, { cause: error });
    throw new BinariesMissing([neededBy], [`"go mod download" of its files: ${String(error)}`]);
  }
}

const isNotInstalled = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
