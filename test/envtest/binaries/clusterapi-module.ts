import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BinariesMissing, cacheRoot } from './binaries.ts';
import { CLUSTER_API_VERSION } from './versions.ts';

/**
 * Returns a directory in the cache of binaries with files from the Go module of Cluster API. If the directory is missing,
 * downloads the module and lets `write` write the files, so that later test runs do not need Go.
 * @param name the last part of the name of the directory
 * @param write writes the files to the given directory, from the directory of the module
 * @throws {BinariesMissing} if the directory is missing and Go is not installed
 */
export async function cachedFromClusterApi(
  name: string,
  write: (module: string, directory: string) => Promise<void>,
): Promise<string> {
  const root = cacheRoot();
  const cached = join(root, `cluster-api-${CLUSTER_API_VERSION}-${name}`);
  if (await exists(cached)) return cached;
  const module = await downloadModule();
  await mkdir(root, { recursive: true });
  const temporary = await mkdtemp(join(root, `tmp-${name}-`));
  try {
    await write(module, temporary);
    // Another test process may have put the same files into the cache in the meantime.
    await rename(temporary, cached).catch(async (error: unknown) => {
      if (!(await exists(cached))) throw error;
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return cached;
}

async function downloadModule(): Promise<string> {
  const args = ['mod', 'download', '-json', `sigs.k8s.io/cluster-api@${CLUSTER_API_VERSION}`];
  try {
    const { stdout } = await promisify(execFile)('go', args);
    return (JSON.parse(stdout) as { Dir: string }).Dir;
  } catch (error) {
    throw new BinariesMissing(['cluster-api-manager'], [`"go mod download" of its files: ${String(error)}`]);
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
