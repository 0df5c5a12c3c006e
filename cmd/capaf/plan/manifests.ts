import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  isForbidden,
  keyText,
  type KubeClient,
  KubeError,
  type KubeObject,
  type ObjectKey,
} from 'controller-runtime/client';
import { diffMergePatch, isRecord, textAt } from 'controller-runtime/json';
import { API_VERSION, KIND } from '../../../api/v1beta2/index.ts';
import { PROFILES } from '../../../controllers/shared/live-profiles.ts';
import { type SourceDocument, readDocuments } from '../documents.ts';
import { Failure, type Io } from '../io.ts';

export type Manifest = ReturnType<typeof toManifest>[number];

/** `paths` are files, folders, and `-` for standard input. @throws Failure with file and line */
export async function readManifests(paths: readonly string[], io: Io): Promise<readonly Manifest[]> {
  const files = (await Array.fromAsync(paths, listFiles)).flat();
  const documents = await Array.fromAsync(files, (file) => readDocuments(file, io));
  return documents.flat().flatMap(toManifest);
}

/** Lists the files of a folder that `kubectl apply -f` would read. @throws Failure */
export async function listFiles(path: string): Promise<readonly string[]> {
  if (path === '-') return [path];
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => /\.(?:ya?ml|json)$/.test(name));
    return names.toSorted().map((name) => join(path, name));
  } catch (cause) {
    throw new Failure(`reading ${path}`, { cause });
  }
}

/** Keeps the fields that users write, and drops objects of other kinds. */
function toManifest({ value, at }: SourceDocument) {
  if (!isRecord(value) || value['kind'] !== KIND) return [];
  const source = at([]).replace(/:\d+$/, '');
  const { apiVersion, metadata, spec } = value;
  if (apiVersion !== API_VERSION) {
    const wanted = `an ${KIND} of this provider has ${API_VERSION}`;
    throw new Failure(`${source}: apiVersion is ${JSON.stringify(apiVersion)}; ${wanted}`);
  }
  const name = textAt(metadata, 'name');
  if (name === undefined) throw new Failure(`${source}: metadata.name is missing`);
  const { labels, annotations } = recordAt(metadata);
  const own = { labels: recordAt(labels), annotations: recordAt(annotations) };
  return [{ source, name, namespace: textAt(metadata, 'namespace'), metadata: own, spec }];
}

const recordAt = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

/**
 * Returns the object that the API server would store. Fields missing from the manifest are removed from the spec, as by
 * `kubectl replace`. Labels and annotations from other clients are kept. `live` is the current object.
 * @throws Failure with the API server's answer
 */
export async function dryRun(
  client: KubeClient,
  manifest: Manifest,
  live: KubeObject | undefined,
  key: ObjectKey,
  signal: AbortSignal,
) {
  const { source, metadata, spec } = manifest;
  const options = { dryRun: true, isStrict: true, signal } as const;
  try {
    const wish = { apiVersion: API_VERSION, kind: KIND, metadata: { ...key, ...metadata }, spec };
    if (live === undefined) return await client.create(PROFILES, key.namespace, wish, options);
    const changes = diffMergePatch(recordAt(live['spec']), recordAt(spec)) ?? {};
    return await client.mergePatch(PROFILES, key, { metadata, spec: changes }, options);
  } catch (cause) {
    if (!(cause instanceof KubeError)) throw cause;
    const right = ' A dry run needs the right to create and patch awsfargateprofiles, although it changes nothing.';
    const refusal = `${source}: the API server refuses ${keyText(key)}: ${cause.message}`;
    throw new Failure(isForbidden(cause) ? `${refusal}${right}` : refusal, { cause });
  }
}
