import { nextTurn, SingleFlight, withDeadline } from 'controller-runtime/async';
import { type Decoded, isAtLeast, type TypedStoreReader } from 'controller-runtime/cache';
import type { KubeClient, KubeObject } from 'controller-runtime/client';
import type { Clock, Ms } from 'controller-runtime/env';
import { type AWSFargateProfile, decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { ServedSchema } from './crd/served-schema.ts';
import { PAGE_SIZE, PROFILES, listLiveProfiles } from './live-profiles.ts';

export interface FreshProfilesSources {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** `undefined` if the cache does not cover all namespaces and watch filters. */
  readonly profiles?: Pick<TypedStoreReader<AWSFargateProfile>, 'list' | 'version' | 'whenIncludes'> | undefined;
  readonly schema: Pick<ServedSchema, 'isSettled'>;
}

/**
 * How long a read waits for the cache to catch up. While 200 objects were deleted, the median wait was 29 ms. A quarter
 * of the waits exceeded 100 ms, because nothing changed, so the watch reported no newer resourceVersion.
 */
const MAX_WATCH_LAG: Ms = 200;

/** How many objects are decoded before other work can run. */
const OBJECTS_PER_TURN = 200;

/** Extracts what the caller needs from an object. Only the results stay in memory, because the list may be long. */
type Project<A extends object> = (object: KubeObject, decoded: Decoded<AWSFargateProfile>) => A | undefined;

/**
 * Returns a function that reads the AWSFargateProfiles of all namespaces and managers. The answer is never older than
 * the call: it comes from a list, or from a cache that has caught up with the API server since. Calls that arrive
 * during a read share the next one.
 */
export function newReadFreshProfiles<A extends object>(
  sources: FreshProfilesSources,
  project: Project<A>,
): (signal: AbortSignal) => Promise<readonly A[]> {
  const readings = new SingleFlight<readonly A[]>();
  const projected = new WeakMap<KubeObject, { readonly result: A | undefined }>();
  return (signal) =>
    readings.runFresh('AWSFargateProfiles', signal, async (shared) => {
      const cached = await readCache(sources, shared);
      const results: A[] = [];
      if (cached === undefined) {
        for await (const object of listLiveProfiles(sources.client, {}, shared)) {
          const result = project(object, decodeAWSFargateProfile(object));
          if (result !== undefined) results.push(result);
        }
        return results;
      }
      let fresh = 0;
      for (const { object, decoded } of cached) {
        const seen = projected.get(object);
        const { result } = seen ?? { result: project(object, decoded) };
        if (result !== undefined) results.push(result);
        if (seen !== undefined) continue;
        projected.set(object, { result });
        if (++fresh % OBJECTS_PER_TURN === 0) await nextTurn(sources.clock, shared);
      }
      return results;
    });
}

/**
 * Returns the cached objects, once the cache has the resourceVersion that a list request for one object returns.
 * Returns `undefined` if the cache
 * - is missing, incomplete, or does not catch up in time
 * - contains objects from before a restore of etcd
 * - may lack fields, because the API server served another provider's CRD
 * - has so few objects that listing them all takes only one page anyway
 */
async function readCache({ client, clock, profiles, schema }: FreshProfilesSources, signal: AbortSignal) {
  if (profiles === undefined || !schema.isSettled()) return undefined;
  const before = profiles.list();
  if (before.kind === 'unknown' || before.entries.length <= PAGE_SIZE) return undefined;
  const known = profiles.version;
  const { resourceVersion } = await client.list(PROFILES, { limit: 1, signal });
  // If the resourceVersion is older than the cache's, etcd was restored from a backup.
  if (known === undefined || !isAtLeast(resourceVersion, known)) return undefined;
  try {
    await withDeadline(clock, MAX_WATCH_LAG, signal, 'the watch of AWSFargateProfiles', (waiting) =>
      profiles.whenIncludes(resourceVersion, waiting),
    );
  } catch {
    return undefined;
  }
  const listing = profiles.list();
  return listing.kind === 'unknown' ? undefined : listing.entries;
}
