import { fieldAt, textAt } from '../json/record.ts';
import { KubeError } from './errors.ts';
import type { KubeClient, Resource } from './types.ts';

const namesIn = (document: unknown, list: string, field: string): readonly string[] => {
  const entries = fieldAt(document, list);
  if (!Array.isArray(entries))
    throw new KubeError(`discovery: no ${list} in the answer`, { status: 0, reason: 'Undecodable' });
  return entries.flatMap((entry: unknown) => textAt(entry, field) ?? []);
};

/** Returns the kind with the first of `versions` that the API server serves. `undefined` if it serves none of them. */
export async function findServed(
  client: KubeClient,
  kind: Omit<Resource, 'version'> & { readonly versions: readonly string[] },
  signal: AbortSignal,
): Promise<Resource | undefined> {
  const { group, plural, versions } = kind;
  const described = await client.discover(`/apis/${group}`, { signal });
  if (described === undefined) return undefined;
  const served = namesIn(described, 'versions', 'version');
  for (const version of versions.filter((wanted) => served.includes(wanted))) {
    const resources = await client.discover(`/apis/${group}/${version}`, { signal });
    if (resources !== undefined && namesIn(resources, 'resources', 'name').includes(plural))
      return { group, version, plural };
  }
  return undefined;
}
