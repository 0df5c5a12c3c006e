import { access, constants, mkdir, readdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ENVTEST_INDEX_URL, downloadArchive } from './archive.ts';
import { buildFromGo, goVersion } from './gobuild.ts';
import { withLock } from './lock.ts';
import { CLUSTER_API_VERSION, KUBERNETES_VERSION, PLATFORM, versionParts } from './versions.ts';

const KUBERNETES_BINARIES = ['kube-apiserver', 'etcd', 'kubectl', 'kube-controller-manager'] as const;
const CLUSTER_API_BINARIES = ['cluster-api-manager', 'clusterctl'] as const;
export const BINARIES = [...KUBERNETES_BINARIES, ...CLUSTER_API_BINARIES] as const;

export type BinaryName = (typeof BINARIES)[number];

/** Takes a line of progress. */
export type Report = (line: string) => void;

export interface ResolveOptions {
  readonly report?: Report;
  readonly env?: NodeJS.ProcessEnv;
  /** The index of envtest releases; the official one by default. */
  readonly indexUrl?: string;
}

export class BinariesMissing extends Error {
  constructor(missing: readonly BinaryName[], tried: readonly string[]) {
    super(
      [
        `no ${missing.join(', ')} for the test control plane (Kubernetes ${KUBERNETES_VERSION}, ${PLATFORM}).`,
        'Any one of these helps:',
        '  - set KUBEBUILDER_ASSETS to a folder that holds them (setup-envtest makes one),',
        `  - allow a download from ${new URL(ENVTEST_INDEX_URL).host} and github.com (etcd, kube-apiserver, kubectl only),`,
        '  - install Go (https://go.dev/dl); they are then built from Go modules, once.',
        'What was tried:',
        ...tried.map((line) => `  - ${line}`),
      ].join('\n'),
    );
    this.name = 'BinariesMissing';
  }
}

/** Where this project keeps binaries between checkouts. */
export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  const base = env.XDG_CACHE_HOME ? env.XDG_CACHE_HOME : join(env.HOME ?? homedir(), '.cache');
  return join(base, 'cluster-api-provider-aws-fargate', 'envtest');
}

/**
 * The paths of `names`, each from the first source that has it: the folder KUBEBUILDER_ASSETS, the cache, the official
 * envtest archive, a build from Go modules. What was fetched or built is in the cache the next time.
 * @throws {BinariesMissing} when no source has them
 */
export async function resolveBinaries<N extends BinaryName>(
  names: readonly N[],
  options: ResolveOptions = {},
): Promise<Record<N, string>> {
  const { report = toStderr, env = process.env, indexUrl = ENVTEST_INDEX_URL } = options;
  const tried: string[] = [];
  let found = await present(names, env);
  tried.push(
    env.KUBEBUILDER_ASSETS
      ? `KUBEBUILDER_ASSETS (${env.KUBEBUILDER_ASSETS}) has not got all`
      : 'KUBEBUILDER_ASSETS is not set',
  );
  if (isComplete(found, names)) return found;

  const root = cacheRoot(env);
  await mkdir(root, { recursive: true });
  return withLock(
    join(root, 'lock'),
    async () => {
      found = await present(names, env);
      tried.push(`the cache ${root} has not got all`);
      if (isComplete(found, names)) return found;
      await removeLeftovers(root);

      const fromArchive = names.filter((name) => !(name in found) && isInArchive(name));
      if (fromArchive.length > 0) {
        const problem = await downloadArchive({ indexUrl, root, report });
        if (problem !== undefined) tried.push(`the envtest archive: ${problem}`);
        found = await present(names, env);
        if (isComplete(found, names)) return found;
      }

      const go = await goVersion(env);
      if (go === undefined) {
        tried.push('no Go toolchain: "go version" does not run');
      } else {
        report(`${go} is here: what is missing is built from Go modules`);
        for (const name of names.filter((candidate) => !(candidate in found))) {
          await buildFromGo({ name, directory: directoryOf(root, name), env, report });
        }
        found = await present(names, env);
        if (isComplete(found, names)) return found;
      }
      throw new BinariesMissing(
        names.filter((name) => !(name in found)),
        tried,
      );
    },
    { onWait: (owner) => report(`another process is getting the binaries (${owner}), waiting for it`) },
  );
}

/** Where one would be found without fetching or building anything. */
async function present<N extends BinaryName>(
  names: readonly N[],
  env: NodeJS.ProcessEnv,
): Promise<Partial<Record<N, string>>> {
  const found: Partial<Record<N, string>> = {};
  const root = cacheRoot(env);
  const kubernetes = await kubernetesDirectories(root);
  for (const name of names) {
    const cached = isClusterApi(name) ? [directoryOf(root, name)] : kubernetes;
    const folders = env.KUBEBUILDER_ASSETS ? [env.KUBEBUILDER_ASSETS, ...cached] : cached;
    for (const folder of folders) {
      const path = join(folder, name);
      if (await isExecutable(path)) {
        found[name] = path;
        break;
      }
    }
  }
  return found;
}

/** The pinned version first, then its sisters of the same minor version: the archive has not got every patch release. */
async function kubernetesDirectories(root: string): Promise<string[]> {
  const [major, minor] = versionParts(KUBERNETES_VERSION);
  const pinned = `${KUBERNETES_VERSION}-${PLATFORM}`;
  const entries = await readdir(root).catch(() => []);
  const sisters = entries.filter(
    (entry) => entry.startsWith(`v${major}.${minor}.`) && entry.endsWith(`-${PLATFORM}`) && entry !== pinned,
  );
  sisters.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  return [pinned, ...sisters].map((entry) => join(root, entry));
}

function directoryOf(root: string, name: BinaryName): string {
  return join(
    root,
    isClusterApi(name) ? `cluster-api-${CLUSTER_API_VERSION}-${PLATFORM}` : `${KUBERNETES_VERSION}-${PLATFORM}`,
  );
}

function isClusterApi(name: BinaryName): boolean {
  return CLUSTER_API_BINARIES.some((candidate) => candidate === name);
}

function isInArchive(name: BinaryName): boolean {
  return !isClusterApi(name) && name !== 'kube-controller-manager';
}

function isComplete<N extends BinaryName>(
  found: Partial<Record<N, string>>,
  names: readonly N[],
): found is Record<N, string> {
  return names.every((name) => found[name] !== undefined);
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Whoever holds the lock is alone: temporary folders in the cache are of a process that was killed. */
async function removeLeftovers(root: string): Promise<void> {
  const entries = await readdir(root);
  await Promise.all(
    entries
      .filter((entry) => entry.startsWith('tmp-'))
      .map((entry) => rm(join(root, entry), { recursive: true, force: true })),
  );
}

export function toStderr(line: string): void {
  process.stderr.write(`envtest: ${line}\n`);
}
