import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BinaryName } from './binaries.ts';
import {
  CLUSTER_API_OPERATOR_VERSION,
  CLUSTER_API_VERSION,
  KUBERNETES_VERSION,
  KUSTOMIZE_CONTROLLER_VERSION,
  OLDEST_KUBERNETES_VERSION,
  versionParts,
} from './versions.ts';

/** The directory `test`. Its subdirectories envtest, cluster-api, gitops, and compatibility are Go modules. */
const TEST_DIRECTORY = fileURLToPath(new URL('../../', import.meta.url));
const PROGRESS_INTERVAL_MS = 60_000;
/** How many characters from the end of the output of `go` an error message shows. */
const MAX_OUTPUT = 4_000;

interface Recipe {
  readonly what: string;
  /** The directory of the Go module, below the directory `test`, in which `go` runs. */
  readonly module: 'envtest' | 'cluster-api' | 'gitops' | 'compatibility';
  /**
   * The build time of the binary on 2 cores, for a progress message. For kube-apiserver, it is the time with an empty
   * Go build cache. Later builds take less time, because they use the cache that the build of kube-apiserver has
   * filled.
   */
  readonly duration: string;
  /**
   * Returns the arguments of the `go` command that builds the binary into the given directory, and the name of the
   * built file.
   */
  command(directory: string): { readonly args: readonly string[]; readonly product: string };
}

/**
 * Returns linker flags that set the version in a binary, as in its official release. Without these flags, a binary that
 * `go` builds from a module does not know its own version. clusterctl and kubectl need their own version, because they
 * compare it with other versions.
 */
function linkerFlags(version: string, packagePath: string): string {
  const [major, minor] = versionParts(version);
  const stamp = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  return ['-s', '-w', ...Object.entries(stamp).map(([name, value]) => `-X ${packagePath}.${name}=${value}`)].join(' ');
}

/**
 * Returns how `go` builds a binary. The main package of the binary belongs to a Go module below the directory `test`,
 * or to a dependency of that module.
 */
function fromOwnModule(
  name: BinaryName,
  duration: string,
  module: Recipe['module'],
  options: { readonly what?: string; readonly ldflags?: string; readonly packagePath?: string } = {},
): Recipe {
  const { what = name, ldflags = '-s -w', packagePath = `./cmd/${name}` } = options;
  return {
    what,
    module,
    duration,
    command: (directory) => ({
      // prettier-ignore
      args: [
        'build', '-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags', ldflags,
        '-o', join(directory, name), packagePath,
      ],
      product: name,
    }),
  };
}

function ofKubernetes(name: BinaryName, duration: string): Recipe {
  return fromOwnModule(name, duration, 'envtest', {
    what: `${name} ${KUBERNETES_VERSION}`,
    ldflags: linkerFlags(KUBERNETES_VERSION, 'k8s.io/component-base/version'),
  });
}

function ofClusterApi(name: BinaryName, duration: string, packagePath: string): Recipe {
  return fromOwnModule(name, duration, 'cluster-api', {
    what: `${name} of Cluster API ${CLUSTER_API_VERSION}`,
    ldflags: linkerFlags(CLUSTER_API_VERSION, 'sigs.k8s.io/cluster-api/version'),
    packagePath,
  });
}

const RECIPES: Record<BinaryName, Recipe> = {
  'kube-apiserver': ofKubernetes('kube-apiserver', 'about 3 minutes'),
  etcd: ofKubernetes('etcd', 'about 10 seconds'),
  kubectl: ofKubernetes('kubectl', 'about 20 seconds'),
  'kube-controller-manager': ofKubernetes('kube-controller-manager', 'about a minute'),
  'cluster-api-manager': ofClusterApi('cluster-api-manager', 'about 4 minutes', 'sigs.k8s.io/cluster-api/core'),
  clusterctl: ofClusterApi('clusterctl', 'about a minute', 'sigs.k8s.io/cluster-api/cmd/clusterctl'),
  'cluster-api-operator': {
    what: `cluster-api-operator ${CLUSTER_API_OPERATOR_VERSION}`,
    module: 'envtest',
    duration: 'about 3 minutes',
    command: () => ({
      // prettier-ignore
      args: [
        'install', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w',
        `sigs.k8s.io/cluster-api-operator/cmd@${CLUSTER_API_OPERATOR_VERSION}`,
      ],
      product: 'cmd',
    }),
  },
  'kustomize-controller': fromOwnModule('kustomize-controller', 'about 5 minutes', 'gitops', {
    what: `kustomize-controller of Flux ${KUSTOMIZE_CONTROLLER_VERSION}`,
    packagePath: 'github.com/fluxcd/kustomize-controller',
  }),
  'argocd-engine': fromOwnModule('argocd-engine', 'about a minute', 'gitops'),
  kstatus: fromOwnModule('kstatus', 'some seconds', 'gitops'),
  'oldest-kube-apiserver': fromOwnModule('oldest-kube-apiserver', 'about 3 minutes', 'compatibility', {
    what: `kube-apiserver ${OLDEST_KUBERNETES_VERSION}`,
    ldflags: linkerFlags(OLDEST_KUBERNETES_VERSION, 'k8s.io/component-base/version'),
    packagePath: './cmd/kube-apiserver',
  }),
};

/** Returns the directory of the Go module to which the binary belongs. */
export const moduleDirectory = (name: BinaryName): string => join(TEST_DIRECTORY, RECIPES[name].module);

export interface BuildOptions {
  readonly name: BinaryName;
  /** The directory for the finished binary. An incomplete binary is never in it. */
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  readonly report: (line: string) => void;
}

/** Returns the output of `go version`; undefined if Go is not installed. */
export async function goVersion(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return promisify(execFile)('go', ['version'], { env }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}

export async function buildFromGo({ name, directory, env, report }: BuildOptions): Promise<void> {
  const recipe = RECIPES[name];
  const started = performance.now();
  const elapsed = (): string => `${Math.round((performance.now() - started) / 1000)} s`;
  report(
    `building ${recipe.what} from Go modules, once; usually ${recipe.duration} on 2 cores, more where modules must be downloaded…`,
  );
  await mkdir(directory, { recursive: true });
  // The temporary directory is in the file system of the target directory, so that the rename of the finished binary is
  // atomic.
  const temporary = await mkdtemp(join(dirname(directory), 'tmp-build-'));
  const progress = setInterval(() => report(`… still building ${name}, ${elapsed()}`), PROGRESS_INTERVAL_MS);
  try {
    const { args, product } = recipe.command(temporary);
    await runGo(args, moduleDirectory(name), { ...env, ...buildEnvironment(temporary) });
    await rename(join(temporary, product), join(directory, name));
  } catch (error) {
    throw new Error(`building ${recipe.what} from Go modules`, { cause: error });
  } finally {
    clearInterval(progress);
    await rm(temporary, { recursive: true, force: true });
  }
  report(`built ${recipe.what}, ${elapsed()}`);
}

/**
 * Overrides the Go settings of the user that would change the build, such as workspaces, cross compilation, and
 * vendoring. An older Go downloads the version that a go.mod requires.
 */
function buildEnvironment(bin: string): NodeJS.ProcessEnv {
  return {
    CGO_ENABLED: '0',
    GOTOOLCHAIN: 'auto',
    GOWORK: 'off',
    GOFLAGS: '',
    GOOS: undefined,
    GOARCH: undefined,
    GOBIN: bin,
  };
}

async function runGo(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn('go', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-MAX_OUTPUT);
    });
  }
  const closed: unknown[] = await once(child, 'close');
  if (closed[0] !== 0) throw new Error(`go ${args[0]} exited with ${String(closed[0])}:\n${output}`);
}
