import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord, textAt } from '../../../api/record.ts';
import { API_VERSION, KIND } from '../../../api/v1beta2/index.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import { type SourceDocument, objectsIn, parseDocuments, readText } from '../documents.ts';
import { Failure, type Io } from '../io.ts';

export interface Manifest {
  /** File and line, for messages. */
  readonly source: string;
  readonly name: string;
  /** `undefined`: that of the command. */
  readonly namespace: string | undefined;
  readonly content: Readonly<Record<string, unknown>>;
}

/**
 * Reads the AWSFargateProfiles of files, of folders with their `.yaml`, `.yml` and `.json` files, or of standard input
 * (`-`), for example from kustomize. Other kinds are left out.
 *
 * @throws Failure that names file and line
 */
export async function readManifests(paths: readonly string[], io: Io): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = [];
  for (const path of paths)
    for (const each of await listFiles(path)) {
      const { file, text } = await readText(each, io);
      const documents = text.trim() === '' ? [] : parseDocuments(file, text);
      for (const manifest of documents.flatMap(objectsIn).flatMap(toManifest)) manifests.push(manifest);
    }
  return manifests;
}

async function listFiles(path: string): Promise<readonly string[]> {
  if (path === '-') return [path];
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => /\.(?:ya?ml|json)$/.test(name));
    return names.toSorted().map((name) => join(path, name));
  } catch (cause) {
    throw new Failure(`reading ${path}`, { cause });
  }
}

function toManifest({ value: content, at }: SourceDocument): readonly Manifest[] {
  if (!isRecord(content) || content['kind'] !== KIND) return [];
  const source = at([]).replace(/:\d+$/, '');
  const version = content['apiVersion'];
  if (version !== API_VERSION)
    throw new Failure(
      `${source}: apiVersion is ${JSON.stringify(version)}; an ${KIND} of this provider has ${API_VERSION}`,
    );
  const name = textAt(content['metadata'], 'name');
  if (name === undefined) throw new Failure(`${source}: metadata.name is missing`);
  return [{ source, name, namespace: textAt(content['metadata'], 'namespace'), content }];
}

/** What the manifest asks for, without what only the API server writes. */
export function wishOf({ content }: Manifest, { namespace, name }: ObjectKey) {
  const { labels, annotations } = isRecord(content['metadata']) ? content['metadata'] : {};
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: {
      namespace,
      name,
      ...(isRecord(labels) && { labels }),
      ...(isRecord(annotations) && { annotations }),
    },
    spec: content['spec'],
  };
}
