import type { KubeClient, KubeObject, Resource, Selection } from './types.ts';

/** The page size of kubectl and of client-go's pager. */
export const PAGE_SIZE = 500;

/** Yields all objects. They are listed in pages, so that the API server's answers stay small. @throws KubeError */
export async function* listPages(
  client: KubeClient,
  resource: Resource,
  { limit = PAGE_SIZE, ...selection }: Selection & { readonly limit?: number },
  signal: AbortSignal,
): AsyncGenerator<KubeObject> {
  let next: string | undefined;
  do {
    const page = await client.list(resource, { ...selection, limit, continue: next, signal });
    yield* page.items;
    next = page.continue;
  } while (next !== undefined);
}

/** @throws KubeError */
export const listAll = (client: KubeClient, resource: Resource, selection: Selection, signal: AbortSignal) =>
  Array.fromAsync(listPages(client, resource, selection, signal));
