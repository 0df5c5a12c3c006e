import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';

const GO_ARCH: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', ia32: '386' };

/** Reads a file below the directory `test`, and returns the version that the first group of `pattern` matches in it. */
function pinned(pattern: RegExp, path: string): string {
  const version = pattern.exec(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'))?.[1];
  if (version === undefined) throw new Error(`test/${path} does not match ${String(pattern)}`);
  return version;
}

/** Returns the version of a Go module that the go.mod of a subdirectory of `test` requires. */
const pinnedInGoMod = (module: string, directory = 'envtest'): string =>
  pinned(new RegExp(`^(?:\\t|require )${module} (v\\S+)`, 'm'), `${directory}/go.mod`);

/** The Kubernetes version of the binaries that tests use, e.g. `v1.37.2`. It is set in test/envtest/go.mod. */
export const KUBERNETES_VERSION = pinnedInGoMod('k8s.io/kubernetes');

/**
 * The oldest version of Kubernetes with which `make test-compatibility` tests the manager. It is set in
 * test/compatibility/go.mod.
 */
export const OLDEST_KUBERNETES_VERSION = pinnedInGoMod('k8s.io/kubernetes', 'compatibility');

/** The version of Flux's kustomize-controller. It is set in test/gitops/go.mod. */
export const KUSTOMIZE_CONTROLLER_VERSION = pinnedInGoMod('github.com/fluxcd/kustomize-controller', 'gitops');

/** The version of Flux's source-controller, of which the tests use the CRDs. It is set in test/gitops/go.mod. */
export const SOURCE_CONTROLLER_VERSION = pinnedInGoMod('github.com/fluxcd/source-controller/api', 'gitops');

/**
 * The version of Argo CD whose CRD the tests apply. Argo CD's own test for health scripts, from the same version, runs
 * the health script for AWSFargateProfiles.
 */
export const ARGO_CD_VERSION = pinned(/^version=(v\S+)$/m, 'argocd/health-script.sh');

/**
 * The version of Cluster API from which the tests build the core manager and clusterctl. It is set in
 * test/cluster-api/go.mod.
 */
export const CLUSTER_API_VERSION = pinnedInGoMod('sigs.k8s.io/cluster-api', 'cluster-api');

export const CLUSTER_API_OPERATOR_VERSION = 'v0.29.0';

/** The version of Cluster API Provider AWS whose manifests tests use. */
export const CAPA_VERSION = 'v2.13.0';

/** The platform in the format of the names of the envtest archives, e.g. `linux-amd64`. */
export const PLATFORM = `${process.platform}-${GO_ARCH[process.arch] ?? process.arch}`;

/** Splits `v1.37.2` into `['1', '37', '2']`. */
export function versionParts(version: string): readonly [major: string, minor: string, patch: string] {
  const [, major, minor, patch] = /^v(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? [];
  if (major === undefined || minor === undefined || patch === undefined)
    throw new Error(`"${version}" is not a version`);
  return [major, minor, patch];
}

/**
 * Returns a hash of the sources of the programs in test/gitops and of the versions of their modules. The hash names the
 * cache folder of the programs, so that changed programs are built again.
 */
export function gitopsSourcesHash(directory = new URL('../../gitops/', import.meta.url)): string {
  const commands = readdirSync(new URL('cmd/', directory), { recursive: true, encoding: 'utf8' });
  const files = ['go.mod', 'go.sum', ...commands.filter((path) => path.endsWith('.go')).map((path) => `cmd/${path}`)];
  const hash = createHash('sha256');
  for (const path of files.toSorted()) hash.update(path).update(readFileSync(new URL(path, directory)));
  return hash.digest('hex').slice(0, 12);
}
