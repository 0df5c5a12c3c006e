import { readFileSync } from 'node:fs';

const GO_ARCH: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', ia32: '386' };

function pinnedInGoMod(module: string): string {
  const goMod = readFileSync(new URL('../go.mod', import.meta.url), 'utf8');
  const version = new RegExp(`^\\t${module} (v\\S+)$`, 'm').exec(goMod)?.[1];
  if (version === undefined) throw new Error(`test/envtest/go.mod does not require ${module}`);
  return version;
}

/** The Kubernetes version of the binaries that tests use, e.g. `v1.36.3`. It is set in test/envtest/go.mod. */
export const KUBERNETES_VERSION = pinnedInGoMod('k8s.io/kubernetes');

/**
 * The version of the core manager of Cluster API and of clusterctl. From version 1.14 on, the go.mod of Cluster API has
 * a `replace` directive, which makes `go install` fail.
 */
export const CLUSTER_API_VERSION = 'v1.12.8';

/** The platform in the format of the names of the envtest archives, e.g. `linux-amd64`. */
export const PLATFORM = `${process.platform}-${GO_ARCH[process.arch] ?? process.arch}`;

/** Splits `v1.36.3` into `['1', '36', '3']`. */
export function versionParts(version: string): readonly [major: string, minor: string, patch: string] {
  const [, major, minor, patch] = /^v(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? [];
  if (major === undefined || minor === undefined || patch === undefined)
    throw new Error(`"${version}" is not a version`);
  return [major, minor, patch];
}
