import { GROUP, PLURAL, VERSION } from '../../api/v1beta2/index.ts';
import { isConflict } from '../../pkg/kube/errors.ts';
import { keyOf } from '../../pkg/kube/object-key.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';

export const NAMESPACES: Resource = { group: '', version: 'v1', plural: 'namespaces' };
export const PROFILES: Resource = { group: GROUP, version: VERSION, plural: PLURAL };

/**
 * The number of AWSFargateProfiles per list request. An object has about 4 KB of JSON, and the deletion of many objects
 * sends many list requests. Small pages save memory: a page of 500 objects takes 10 MiB for a moment, and a page of 100
 * objects takes 3 MiB more than a page of 50.
 */
export const PAGE_SIZE = 50;

/**
 * Lists the AWSFargateProfiles of a namespace, or of all namespaces. The list comes from the API server and not from a
 * cache, and contains the objects of other managers too.
 */
export async function* listLiveProfiles(
  client: KubeClient,
  scope: { readonly namespace?: string; readonly labelSelector?: string },
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

/** Deletes the AWSFargateProfile with this uid. Does nothing if it is gone or another object has its name. */
export async function deleteProfileObject(
  client: KubeClient,
  { metadata }: { readonly metadata: KubeObject['metadata'] },
  signal: AbortSignal,
): Promise<void> {
  await client.delete(PROFILES, keyOf({ metadata }), { uid: metadata.uid, signal }).catch((error: unknown) => {
    if (!isConflict(error)) throw error;
  });
}
