import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { eventually } from '../../support/eventually.ts';
import { HANG_LIMIT_MS } from '../../support/hang-limit.ts';
import { type ApiClient, ApiError } from './api.ts';

const CRD_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/**
 * The folder with simplified CRDs of Cluster API and Cluster API Provider AWS: for the kinds that the manager reads,
 * and for AWSManagedCluster, which only tests use.
 */
export const STAND_IN_CRDS = fileURLToPath(new URL('../../crds', import.meta.url));

export interface CrdManifest {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly conversion?: unknown;
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean; readonly storage: boolean }[];
  };
}

/**
 * Applies CRDs. A source is a CRD object, or the path of a YAML file or of a folder with YAML files. Resolves when the
 * API server serves all versions of the CRDs that have `served: true`.
 */
export async function applyCrds(api: ApiClient, ...sources: readonly (string | CrdManifest)[]): Promise<void> {
  const loaded = await Promise.all(
    sources.map(async (source) => (typeof source === 'string' ? loadCrds(source) : [source])),
  );
  await Promise.all(loaded.flat().map((crd) => applyCrd(api, crd)));
}

export async function loadCrds(path: string): Promise<CrdManifest[]> {
  if ((await stat(path)).isDirectory()) {
    const files = (await readdir(path)).filter((name) => name.endsWith('.yaml')).toSorted();
    return (await Promise.all(files.map((name) => loadCrds(join(path, name))))).flat();
  }
  const documents = parseAllDocuments(await readFile(path, 'utf8'));
  return documents.map((document) => document.toJS() as unknown).filter(isCrd);
}

/** Returns a copy of a CRD that has only the given version, e.g. to simulate an older release of Cluster API. */
export function withOnlyVersion(crd: CrdManifest, version: string): CrdManifest {
  const versions = crd.spec.versions.filter(({ name }) => name === version);
  if (versions.length === 0) throw new Error(`${crd.metadata.name} has no version ${version}`);
  return {
    ...crd,
    spec: { ...crd.spec, versions: versions.map((kept) => ({ ...kept, served: true, storage: true })) },
  };
}

async function applyCrd(api: ApiClient, crd: CrdManifest): Promise<void> {
  const path = `${CRD_PATH}/${crd.metadata.name}`;
  await api.apply(path, crd);
  await eventually(
    async () => {
      const conditions = (await api.get(path)).status?.conditions ?? [];
      const refused = conditions.find(({ type, status }) => type === 'NamesAccepted' && status === 'False');
      if (refused !== undefined) throw new Error(`the names are not accepted: ${refused.message ?? ''}`);
      return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
    },
    { what: `the condition Established of ${crd.metadata.name}` },
  );
  // The condition Established of a CRD means only that the API server has accepted the names in the CRD. The API server
  // serves the kind and lists it in discovery a moment later.
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
    await expectWatch(api, `${group}/${crd.spec.names.plural}`);
  }
}

/** Waits until the API server serves watches of a kind. The API server serves lists of a kind earlier than watches. */
async function expectWatch(api: ApiClient, path: string): Promise<void> {
  const query = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true };
  const seen = new AbortController();
  const signal = AbortSignal.any([seen.signal, AbortSignal.timeout(HANG_LIMIT_MS)]);
  // The watch sends at least one event: an existing object or, if there is none, the bookmark after the initial events.
  try {
    for await (const _event of api.watch(path, query, signal)) seen.abort();
  } catch (error) {
    // Kubernetes 1.30 refuses sendInitialEvents with status 422, and has no other way to prove that a watch has
    // started. So this function does not wait if the API server answers 422.
    if (error instanceof ApiError && error.status === 422) return;
    throw error;
  }
  if (!seen.signal.aborted) throw new Error(`${path}: the API server does not start a watch`);
}

function isCrd(document: unknown): document is CrdManifest {
  return (
    typeof document === 'object' &&
    document !== null &&
    'kind' in document &&
    document.kind === 'CustomResourceDefinition'
  );
}
