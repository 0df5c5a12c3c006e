import { GROUP, PLURAL, VERSION } from '../api/v1beta2/index.ts';
import { isConflict } from '../pkg/kube/errors.ts';
import { keyOf } from '../pkg/kube/paths.ts';
import type { KubeClient, KubeObject, Resource } from '../pkg/kube/types.ts';

/** AWSFargateProfiles, as the API server names them. */
export const PROFILES: Resource = { group: GROUP, version: VERSION, plural: PLURAL };

/**
 * Each object comes with some 4 KB of text. In a mass deletion the list is asked for again and again: a page of 500 would
 * cost 10 MiB of memory for a moment, one of 100 still 3 MiB more than this.
 */
const PAGE_SIZE = 50;

/** All AWSFargateProfiles of a namespace, or of all, as they are now: no cache is asked, and no watch filter applied. */
export async function* listLive(
  client: KubeClient,
  scope: { readonly namespace?: string },
  signal: AbortSignal,
): AsyncGenerator<KubeObject> {
  let next: string | undefined;
  do {
    const options = { ...scope, limit: PAGE_SIZE, signal, ...(next !== undefined && { continue: next }) };
    const page = await client.list(PROFILES, options);
    yield* page.items;
    next = page.continue;
  } while (next !== undefined);
}

/** Deletes this very object through the API server; another that has its name by now is left alone. */
export async function deleteThis(
  client: KubeClient,
  { metadata }: { readonly metadata: KubeObject['metadata'] },
  signal: AbortSignal,
): Promise<void> {
  await client.delete(PROFILES, keyOf({ metadata }), { uid: metadata.uid, signal }).catch((error: unknown) => {
    if (!isConflict(error)) throw error;
  });
}
