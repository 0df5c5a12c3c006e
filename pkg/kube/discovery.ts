import { fieldAt, textAt } from '../../api/record.ts';
import { KubeError } from './errors.ts';
import type { KubeClient, Resource } from './types.ts';

const namesIn = (document: unknown, list: string, field: string): readonly string[] => {
  const entries = fieldAt(document, list);
  if (!Array.isArray(entries))
    throw new KubeError(`discovery: no ${list} in the answer`, { status: 0, reason: 'Undecodable' });
  return entries.flatMap((entry: unknown) => textAt(entry, field) ?? []);
};

/**
 * Returns a kind with the version under which the API server serves it: the first such version in the list `versions`.
 * Returns `undefined` when the API server serves none of them. Does not work for kinds of the core group.
 *
 * @throws KubeError for a response other than 2xx or 404, for an undecodable response, and when there is no response
 */
export async function findServed(
  client: KubeClient,
  {
    group,
    plural,
    versions,
  }: { readonly group: string; readonly plural: string; readonly versions: readonly string[] },
  signal: AbortSignal,
): Promise<Resource | undefined> {
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
