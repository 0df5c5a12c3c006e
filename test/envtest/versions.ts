import { readFileSync } from 'node:fs';

const GO_ARCH: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', ia32: '386' };

function pinnedInGoMod(module: string): string {
  const goMod = readFileSync(new URL('./go.mod', import.meta.url), 'utf8');
  const version = new RegExp(`^\\t${module} (v\\S+)$`, 'm').exec(goMod)?.[1];
  if (version === undefined) throw new Error(`test/envtest/go.mod does not require ${module}`);
  return version;
}

/** The Kubernetes that tests run on, e.g. `v1.36.3`: go.mod is the one place that pins it. */
export const KUBERNETES_VERSION = pinnedInGoMod('k8s.io/kubernetes');

/**
 * Cluster API's core manager and clusterctl. From 1.14 on their go.mod has a `replace` directive, and `go install` refuses
 * a module that has one.
 */
export const CLUSTER_API_VERSION = 'v1.12.8';

/** The platform in Go's words, as the envtest archives name it, e.g. `linux-amd64`. */
export const PLATFORM = `${process.platform}-${GO_ARCH[process.arch] ?? process.arch}`;

/** `v1.36.3` → `['1', '36', '3']`. */
export function versionParts(version: string): readonly [major: string, minor: string, patch: string] {
  const [, major, minor, patch] = /^v(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) throw new Error(`"${version}" is no version`);
  return [major, minor, patch];
}
