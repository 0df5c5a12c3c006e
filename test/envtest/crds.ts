import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { eventually } from '../support/eventually.ts';
import type { Api } from './api.ts';

const WATCHED_WITHIN_MS = 30_000;
const CRD_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Our small stand-ins for the kinds of Cluster API and of its AWS provider that this project reads. */
export const STAND_IN_CRDS = fileURLToPath(new URL('../crds', import.meta.url));

export interface CustomResourceDefinition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean; readonly storage: boolean }[];
  };
}

/**
 * Applies CRDs (objects, YAML files, or folders of them) and resolves when the API server serves every version they say
 * is served.
 */
export async function applyCrds(api: Api, ...sources: readonly (string | CustomResourceDefinition)[]): Promise<void> {
  const loaded = await Promise.all(
    sources.map(async (source) => (typeof source === 'string' ? loadCrds(source) : [source])),
  );
  await Promise.all(loaded.flat().map((crd) => applyCrd(api, crd)));
}

export async function loadCrds(path: string): Promise<CustomResourceDefinition[]> {
  if ((await stat(path)).isDirectory()) {
    const files = (await readdir(path)).filter((name) => name.endsWith('.yaml')).toSorted();
    return (await Promise.all(files.map((name) => loadCrds(join(path, name))))).flat();
  }
  const documents = parseAllDocuments(await readFile(path, 'utf8'));
  return documents.map((document) => document.toJS() as unknown).filter(isCrd);
}

/** The CRD as a server has it that knows this version alone, e.g. an older Cluster API. */
export function onlyVersion(crd: CustomResourceDefinition, version: string): CustomResourceDefinition {
  const versions = crd.spec.versions.filter(({ name }) => name === version);
  if (versions.length === 0) throw new Error(`${crd.metadata.name} has no version ${version}`);
  return {
    ...crd,
    spec: { ...crd.spec, versions: versions.map((kept) => ({ ...kept, served: true, storage: true })) },
  };
}

async function applyCrd(api: Api, crd: CustomResourceDefinition): Promise<void> {
  const path = `${CRD_PATH}/${crd.metadata.name}`;
  await api.apply(path, crd);
  await eventually(
    async () => {
      const conditions = (await api.get(path)).status?.conditions ?? [];
      const refused = conditions.find(({ type, status }) => type === 'NamesAccepted' && status === 'False');
      if (refused !== undefined) throw new Error(`its names are not accepted: ${refused.message ?? ''}`);
      return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
    },
    { what: `${crd.metadata.name} being established` },
  );
  // Established is about the names; the handlers and discovery follow a moment later.
  for (const { name: version, served } of crd.spec.versions) {
    if (!served) continue;
    const group = `/apis/${crd.spec.group}/${version}`;
    await eventually(
      async () => {
        const discovered = await api.get<{ resources: readonly { name: string }[] }>(group);
        if (!discovered.resources.some(({ name }) => name === crd.spec.names.plural)) return false;
        await api.list(`${group}/${crd.spec.names.plural}`, { limit: 1 });
        return true;
      },
      { what: `${group}/${crd.spec.names.plural} being served` },
    );
    await watched(api, `${group}/${crd.spec.names.plural}`);
  }
}

/** Lists are answered before watches are: whoever begins to watch now must miss nothing. */
async function watched(api: Api, path: string): Promise<void> {
  const query = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true };
  const seen = new AbortController();
  const signal = AbortSignal.any([seen.signal, AbortSignal.timeout(WATCHED_WITHIN_MS)]);
  // The first of what is there, or the bookmark that follows it.
  for await (const _event of api.watch(path, query, signal)) seen.abort();
  if (!seen.signal.aborted) throw new Error(`${path}: the API server begins no watch`);
}

function isCrd(document: unknown): document is CustomResourceDefinition {
  return (
    typeof document === 'object' &&
    document !== null &&
    'kind' in document &&
    document.kind === 'CustomResourceDefinition'
  );
}
