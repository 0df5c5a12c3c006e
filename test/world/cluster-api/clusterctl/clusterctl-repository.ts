import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { resolveBinaries } from '../../../envtest/binaries/binaries.ts';
import { CLUSTER_API_VERSION } from '../../../envtest/binaries/versions.ts';
import { coreRelease } from '../../../envtest/control-plane/coremanager.ts';
import type { ControlPlane } from '../../../envtest/control-plane/controlplane.ts';
import { type ProgramResult, runProgram } from '../../../support/run-program.ts';

const RELEASE = fileURLToPath(new URL('../../../../hack/release.ts', import.meta.url));
/** The CRDs of cert-manager. `clusterctl init` looks for them to find out whether cert-manager is installed. */
export const CERT_MANAGER_CRDS = fileURLToPath(
  new URL('../../../crds/cert-manager/cert-manager.yaml', import.meta.url),
);
const COMPONENTS = 'infrastructure-components.yaml';

/** The name of the manager's image in the test release, without its tag. */
export const IMAGE = 'registry.example.com/capaf';

export interface RunOptions {
  /** The variables that the configuration file of clusterctl sets. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** The real clusterctl, with a local repository that has releases of Cluster API's core and of this provider. */
export interface ClusterctlRepository {
  /**
   * Adds a later version of this provider to the repository. It differs from the first version only in the tag of its
   * image.
   */
  addVersion(version: string): Promise<void>;
  /**
   * Runs clusterctl with the local repository as its only source of releases.
   * @throws an error with the output of clusterctl, if clusterctl fails
   */
  run(controlPlane: ControlPlane, args: readonly string[], options?: RunOptions): Promise<ProgramResult>;
}

/** The first version of this provider in the repository. It equals the version in package.json. */
export const FIRST_VERSION = 'v0.1.0';

/**
 * Writes releases of Cluster API's core and of this provider to a directory that clusterctl can use as its repository.
 * @throws {BinariesMissing} if clusterctl, kubectl, or the release of the core is missing
 */
export async function createClusterctlRepository(directory: string): Promise<ClusterctlRepository> {
  const { clusterctl, kubectl } = await resolveBinaries(['clusterctl', 'kubectl']);
  const core = join(directory, 'cluster-api', CLUSTER_API_VERSION);
  const own = join(directory, 'infrastructure-aws-fargate');
  const first = join(own, FIRST_VERSION);
  await cp(await coreRelease(), core, { recursive: true });
  await mkdir(own, { recursive: true });
  // prettier-ignore
  await promisify(execFile)(process.execPath, [
    RELEASE, '--version', FIRST_VERSION, '--image', IMAGE, '--kubectl', kubectl, '--out', first, '--no-binaries',
  ]);
  const providers = [
    { name: 'cluster-api', type: 'CoreProvider', url: `file://${join(core, 'core-components.yaml')}` },
    { name: 'aws-fargate', type: 'InfrastructureProvider', url: `file://${join(own, 'latest', COMPONENTS)}` },
  ];
  return {
    addVersion: async (version) => {
      await cp(first, join(own, version), { recursive: true });
      const components = await readFile(join(first, COMPONENTS), 'utf8');
      await writeFile(
        join(own, version, COMPONENTS),
        components.replace(`${IMAGE}:${FIRST_VERSION}`, `${IMAGE}:${version}`),
      );
    },
    run: async (controlPlane, args, { variables = {} } = {}) => {
      const config = join(directory, 'clusterctl.yaml');
      await writeFile(config, stringify({ providers, ...variables }));
      const result = await runProgram(clusterctl, [...args, '--config', config, '-v', '1'], {
        name: 'clusterctl',
        env: {
          ...process.env,
          KUBECONFIG: controlPlane.kubeconfigPath,
          XDG_CONFIG_HOME: directory,
          CLUSTERCTL_DISABLE_VERSIONCHECK: 'true',
          GOPROXY: 'off',
        },
      });
      if (result.code !== 0) throw new Error(`clusterctl ${args.join(' ')}: ${result.stdout}${result.stderr}`);
      return result;
    },
  };
}
