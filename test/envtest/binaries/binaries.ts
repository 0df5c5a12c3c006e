import { access, constants, mkdir, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ENVTEST_INDEX_URL, downloadArchive } from './archive.ts';
import { buildFromGo, goVersion } from './gobuild.ts';
import {
  CLUSTER_API_OPERATOR_VERSION,
  CLUSTER_API_VERSION,
  KUBERNETES_VERSION,
  OLDEST_KUBERNETES_VERSION,
  PLATFORM,
  gitopsSourcesHash,
  versionParts,
} from './versions.ts';

const KUBERNETES_BINARIES = ['kube-apiserver', 'etcd', 'kubectl', 'kube-controller-manager'] as const;
const CLUSTER_API_BINARIES = ['cluster-api-manager', 'clusterctl'] as const;
const OPERATOR_BINARIES = ['cluster-api-operator'] as const;
/** The programs that `make test-gitops` runs from the Go module test/gitops. */
const GITOPS_BINARIES = ['kustomize-controller', 'argocd-engine', 'kstatus'] as const;
/** kube-apiserver of the oldest Kubernetes version that `make test-compatibility` tests. */
const COMPATIBILITY_BINARIES = ['oldest-kube-apiserver'] as const;
/** The binaries that `make test-e2e` needs. */
export const TEST_BINARIES = [...KUBERNETES_BINARIES, ...CLUSTER_API_BINARIES] as const;
export const BINARIES = [
  ...TEST_BINARIES,
  ...GITOPS_BINARIES,
  ...OPERATOR_BINARIES,
  ...COMPATIBILITY_BINARIES,
] as const;

export type BinaryName = (typeof BINARIES)[number];

/** Receives lines about the progress of downloads and builds of binaries. */
export type ProgressReporter = (line: string) => void;

export interface ResolveOptions {
  readonly report?: ProgressReporter;
  readonly env?: NodeJS.ProcessEnv;
  /** The URL of the index of envtest archives; default: the official index. */
  readonly indexUrl?: string;
}

export class BinariesMissing extends Error {
  constructor(missing: readonly BinaryName[], tried: readonly string[]) {
    super(
      [
        `no ${missing.join(', ')} for the test control plane (Kubernetes ${KUBERNETES_VERSION}, ${PLATFORM}).`,
        'To get them, do one of these:',
        '  - set KUBEBUILDER_ASSETS to a folder that holds them (setup-envtest creates one),',
        `  - allow a download from ${new URL(ENVTEST_INDEX_URL).host} and github.com (etcd, kube-apiserver, kubectl only),`,
        '  - install Go (https://go.dev/dl), which builds them from Go modules, once.',
        'These sources failed:',
        ...tried.map((line) => `  - ${line}`),
      ].join('\n'),
    );
    this.name = 'BinariesMissing';
  }
}

/**
 * Returns the cache directory of the test binaries. All checkouts of a user share it, so that each binary is downloaded
 * or built only once.
 */
export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  const base = env.XDG_CACHE_HOME ? env.XDG_CACHE_HOME : join(env.HOME ?? homedir(), '.cache');
  return join(base, 'cluster-api-provider-aws-fargate', 'envtest');
}

/**
 * Returns the path of each named test binary. Looks for a binary in the folder that KUBEBUILDER_ASSETS names, and then
 * in the cache. Downloads a missing binary as part of the official envtest archive, or else builds it with Go. Keeps
 * the binary in the cache. If two processes miss the same binary, both fetch it, and each file replaces an equal one.
 * @throws {BinariesMissing} if a binary can be neither found nor downloaded, and Go is not installed
 * @throws {Error} if a build with Go fails
 */
export async function resolveBinaries<N extends BinaryName>(
  names: readonly N[],
  options: ResolveOptions = {},
): Promise<Record<N, string>> {
  const { report = reportToStderr, env = process.env, indexUrl = ENVTEST_INDEX_URL } = options;
  const tried: string[] = [];
  let found = await findInstalled(names, env);
  tried.push(
    env.KUBEBUILDER_ASSETS
      ? `KUBEBUILDER_ASSETS (${env.KUBEBUILDER_ASSETS}) does not have all of them`
      : 'KUBEBUILDER_ASSETS is not set',
  );
  if (isComplete(found, names)) return found;

  const root = cacheRoot(env);
  await mkdir(root, { recursive: true });
  tried.push(`the cache ${root} does not have all of them`);
  if (names.some((name) => !(name in found) && isInArchive(name))) {
    const problem = await downloadArchive({ indexUrl, root, report });
    if (problem !== undefined) tried.push(`the envtest archive: ${problem}`);
    found = await findInstalled(names, env);
    if (isComplete(found, names)) return found;
  }

  const go = await goVersion(env);
  if (go === undefined) {
    tried.push('no Go toolchain: "go version" does not run');
  } else {
    report(`${go} builds the missing binaries from Go modules`);
    for (const name of names.filter((candidate) => !(candidate in found))) {
      await buildFromGo({ name, directory: directoryOf(root, name), env, report });
    }
    found = await findInstalled(names, env);
    if (isComplete(found, names)) return found;
  }
  throw new BinariesMissing(
    names.filter((name) => !(name in found)),
    tried,
  );
}

/**
 * Looks for each named binary in the folder that KUBEBUILDER_ASSETS names, and then in the cache. Returns the paths of
 * the binaries that it has found.
 */
async function findInstalled<N extends BinaryName>(
  names: readonly N[],
  env: NodeJS.ProcessEnv,
): Promise<Partial<Record<N, string>>> {
  const found: Partial<Record<N, string>> = {};
  const root = cacheRoot(env);
  const kubernetes = await kubernetesDirectories(root);
  for (const name of names) {
    const cached = isIn(KUBERNETES_BINARIES, name) ? kubernetes : [directoryOf(root, name)];
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

/**
 * Returns the folders of the cache to search for Kubernetes binaries. The first folder is for the version in go.mod.
 * The other folders are for other patch releases of the same minor version, because not every patch release has an
 * envtest archive.
 */
async function kubernetesDirectories(root: string): Promise<string[]> {
  const [major, minor] = versionParts(KUBERNETES_VERSION);
  const pinned = `${KUBERNETES_VERSION}-${PLATFORM}`;
  const entries = await readdir(root).catch(() => []);
  const otherPatches = entries.filter(
    (entry) => entry.startsWith(`v${major}.${minor}.`) && entry.endsWith(`-${PLATFORM}`) && entry !== pinned,
  );
  otherPatches.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  return [pinned, ...otherPatches].map((entry) => join(root, entry));
}

function directoryOf(root: string, name: BinaryName): string {
  return join(root, `${sourceVersionOf(name)}-${PLATFORM}`);
}

/**
 * Returns the first part of the name of a binary's cache folder. It identifies the version of the sources of the
 * binary.
 */
function sourceVersionOf(name: BinaryName): string {
  if (isIn(CLUSTER_API_BINARIES, name)) return `cluster-api-${CLUSTER_API_VERSION}`;
  if (isIn(OPERATOR_BINARIES, name)) return `cluster-api-operator-${CLUSTER_API_OPERATOR_VERSION}`;
  if (isIn(GITOPS_BINARIES, name)) return `gitops-${gitopsSourcesHash()}`;
  return isIn(COMPATIBILITY_BINARIES, name) ? OLDEST_KUBERNETES_VERSION : KUBERNETES_VERSION;
}

function isIn(names: readonly BinaryName[], name: BinaryName): boolean {
  return names.includes(name);
}

function isInArchive(name: BinaryName): boolean {
  return isIn(KUBERNETES_BINARIES, name) && name !== 'kube-controller-manager';
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

export function reportToStderr(line: string): void {
  process.stderr.write(`envtest: ${line}\n`);
}
