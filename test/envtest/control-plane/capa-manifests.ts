import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { resolveBinaries } from '../binaries/binaries.ts';
import { type ModuleFiles, cachedFromModule } from '../binaries/module-files.ts';
import { CAPA_VERSION } from '../binaries/versions.ts';
import type { CrdManifest } from '../clients/crds.ts';

export interface CapaWebhook {
  readonly name: string;
  readonly clientConfig: { readonly service: { readonly name: string; readonly path: string } };
}

export interface CapaConfiguration {
  readonly apiVersion: string;
  readonly kind: 'MutatingWebhookConfiguration' | 'ValidatingWebhookConfiguration';
  readonly metadata: { readonly name: string };
  readonly webhooks: readonly CapaWebhook[];
}

/** The CRD of AWSFargateProfiles and the webhook configurations in a release of Cluster API Provider AWS. */
export interface CapaManifests {
  readonly crd: CrdManifest;
  /** All webhook configurations of the release, mutating and validating, for all its kinds. */
  readonly configurations: readonly CapaConfiguration[];
}

const MODULE = `sigs.k8s.io/cluster-api-provider-aws/v2@${CAPA_VERSION}`;
const FILES: ModuleFiles = {
  module: MODULE,
  name: `cluster-api-provider-aws-${CAPA_VERSION}-manifests`,
  neededBy: 'kubectl',
};
const CRD_FILE = 'awsfargateprofiles.json';
const CONFIGURATIONS_FILE = 'webhookconfigurations.json';

/**
 * Returns manifests of the real Cluster API Provider AWS, from the `config/default` of its Go module.
 * @throws {BinariesMissing} if the manifests are not in the cache and Go is not installed
 */
export async function capaManifests(): Promise<CapaManifests> {
  const directory = await cachedFromModule(FILES, async (module, target) => {
    const { kubectl } = await resolveBinaries(['kubectl']);
    const { stdout } = await promisify(execFile)(kubectl, ['kustomize', join(module, 'config', 'default')], {
      maxBuffer: 10e6,
    });
    const documents = stdout.split(/^---\n/m);
    const pick = (pattern: RegExp): unknown[] =>
      documents.filter((text) => pattern.test(text)).map((text) => parse(text) as unknown);
    const [crd] = pick(/^ {2}name: awsfargateprofiles\.infrastructure\.cluster\.x-k8s\.io$/m);
    await writeFile(join(target, CRD_FILE), JSON.stringify(crd));
    await writeFile(join(target, CONFIGURATIONS_FILE), JSON.stringify(pick(/^kind: \w+WebhookConfiguration$/m)));
  });
  const read = async (file: string): Promise<unknown> => JSON.parse(await readFile(join(directory, file), 'utf8'));
  return {
    crd: (await read(CRD_FILE)) as CrdManifest,
    configurations: (await read(CONFIGURATIONS_FILE)) as readonly CapaConfiguration[],
  };
}

/** Returns CRDs of the real Cluster API Provider AWS, by their plurals, without its conversion webhooks. */
export async function capaCrds(plurals: readonly string[]): Promise<readonly CrdManifest[]> {
  const text = await readFile(join(await capaRelease(), 'infrastructure-components.yaml'), 'utf8');
  return text
    .split(/^---\n/m)
    .filter((each) => /^kind: CustomResourceDefinition$/m.test(each))
    .map((each) => parse(each) as CrdManifest)
    .filter(({ spec }) => plurals.includes(spec.names.plural))
    .map(({ spec: { conversion: _conversion, ...spec }, ...crd }) => ({ ...crd, spec }));
}

const RELEASE: ModuleFiles = {
  module: MODULE,
  name: `cluster-api-provider-aws-${CAPA_VERSION}-release`,
  neededBy: 'clusterctl',
};

/**
 * Returns a directory with the files that clusterctl reads from a release of Cluster API Provider AWS:
 * infrastructure-components.yaml and metadata.yaml.
 * @throws {BinariesMissing} if the files are not in the cache and Go is not installed
 */
export const capaRelease = (): Promise<string> =>
  cachedFromModule(RELEASE, async (module, directory) => {
    const { kubectl } = await resolveBinaries(['kubectl']);
    const { stdout } = await promisify(execFile)(kubectl, ['kustomize', join(module, 'config', 'default')], {
      maxBuffer: 10e6,
    });
    await writeFile(join(directory, 'infrastructure-components.yaml'), stdout);
    await cp(join(module, 'metadata.yaml'), join(directory, 'metadata.yaml'));
  });
