import type { KubeClient, KubeObject, Resource, Selection } from './types.ts';

/** The page size of kubectl. */
const PAGE_SIZE = 500;

/** Lists all objects in pages, so that the API server's answers stay small. @throws KubeError */
export async function listAll(client: KubeClient, resource: Resource, selection: Selection, signal: AbortSignal) {
  const items: KubeObject[] = [];
  let next: string | undefined;
  do {
    const page = await client.list(resource, { ...selection, limit: PAGE_SIZE, continue: next, signal });
    items.push(...page.items);
    next = page.continue;
  } while (next !== undefined);
  return items;
}
