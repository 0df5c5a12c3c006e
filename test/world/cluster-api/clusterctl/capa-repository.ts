import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { CAPA_VERSION, CLUSTER_API_VERSION } from '../../../envtest/binaries/versions.ts';
import type { ApiClient, RawObject } from '../../../envtest/clients/api.ts';
import { type CapaConfiguration, capaRelease } from '../../../envtest/control-plane/capa-manifests.ts';
import { coreRelease } from '../../../envtest/control-plane/coremanager.ts';
import type { CapaInstallation } from '../capa-installation.ts';

const COMPONENTS = 'infrastructure-components.yaml';
const DEPLOYMENT = '/apis/apps/v1/namespaces/capa-system/deployments/capa-controller-manager';

interface Deployment extends RawObject {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] } };
  };
}

/**
 * Writes the releases of Cluster API's core and of Cluster API Provider AWS to a directory, and returns the clusterctl
 * configuration for this directory. The webhooks in the release have the URLs of the simulated webhook server.
 * @throws {BinariesMissing} if a release is not in the cache and Go is not installed
 */
export async function createCapaRepository(directory: string, installation: CapaInstallation): Promise<string> {
  const core = join(directory, 'cluster-api', CLUSTER_API_VERSION);
  const capa = join(directory, 'infrastructure-aws', CAPA_VERSION);
  await mkdir(directory, { recursive: true });
  await cp(await coreRelease(), core, { recursive: true });
  await cp(await capaRelease(), capa, { recursive: true });
  const manifests = (await readFile(join(capa, COMPONENTS), 'utf8'))
    .split(/^---\n/m)
    .map((text) =>
      /^kind: \w+WebhookConfiguration$/m.test(text)
        ? stringify(installation.served(parse(text) as CapaConfiguration))
        : text,
    );
  await writeFile(join(capa, COMPONENTS), manifests.join('---\n'));
  return stringify({
    providers: [
      { name: 'cluster-api', type: 'CoreProvider', url: `file://${join(core, 'core-components.yaml')}` },
      { name: 'aws', type: 'InfrastructureProvider', url: `file://${join(capa, COMPONENTS)}` },
    ],
    AWS_B64ENCODED_CREDENTIALS: '',
  });
}

/** Whether the Deployment of Cluster API Provider AWS has the feature gate EKSFargate switched on. */
export async function hasFargateGate(api: ApiClient): Promise<boolean> {
  const { spec } = await api.get<Deployment>(DEPLOYMENT);
  return spec.template.spec.containers.some(({ args }) => args.some((arg) => arg.includes('EKSFargate=true')));
}
