import { isLeft } from 'fp-ts/lib/Either.js';
import { ObjectMeta } from '../schema/meta.ts';
import { decode, describeProblems } from '../schema/problem.ts';
import type { Clock } from '../env/clock.ts';
import { KubeError } from './errors.ts';
import { ApiRequests } from './requests/api-requests.ts';
import { decodeList } from './requests/decode.ts';
import { collectionPath, objectPath, query } from './requests/paths.ts';
import type { Transport } from './transport.ts';

const PODS = { group: '', version: 'v1', plural: 'pods' };
const PAGE_SIZE = 100;
/** Limits the time and memory for a list that never ends. */
const MAX_PAGES = 100;
/** With this Accept header, the API server omits spec and status. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const NOT_ENDED = 'status.phase!=Succeeded,status.phase!=Failed';

export type Eviction =
  /** The pod is terminating now. */
  | { readonly kind: 'accepted' }
  /** The pod does not exist, or a different pod has its name. */
  | { readonly kind: 'gone' }
  /**
   * A PodDisruptionBudget, an admission webhook, or RBAC refused the eviction, or the API server is busy. A webhook and
   * RBAC give the same reason `Forbidden`, and each may refuse only the pods of one namespace. `said` is the response's
   * message.
   */
  | { readonly kind: 'refused'; readonly said: string };

export type EvictedPod = { readonly namespace: string; readonly name: string; readonly uid: string };

export interface Evictions {
  /** Returns the metadata of the pods that match the selector and have not ended, in pages. @throws KubeError */
  list(labelSelector: string, signal: AbortSignal): AsyncGenerator<readonly ObjectMeta[]>;
  /** @throws KubeError if the API server does not answer or rejects the credentials */
  evict(pod: EvictedPod, signal: AbortSignal): Promise<Eviction>;
}

/** The largest response, in bytes. The metadata of a page of 100 pods usually takes half a megabyte. */
const MAX_BODY = 4 * 1_024 * 1_024;

/** Limits the memory for each answer. Does not repeat a refused eviction. */
export function newEvictions(transport: Transport, clock: Clock): Evictions {
  const requests = new ApiRequests(transport, clock);
  return {
    async *list(labelSelector, signal) {
      const doing = 'listing pods';
      let next: string | undefined;
      for (let page = 0; page < MAX_PAGES; page++) {
        const parameters = { labelSelector, fieldSelector: NOT_ENDED, limit: PAGE_SIZE, continue: next };
        const path = collectionPath(PODS, '') + query(parameters);
        const asked = { accept: METADATA_ONLY, maxBody: MAX_BODY };
        const answer = await requests.sendForJson({ doing, method: 'GET', path, ...asked, signal });
        const list = decodeList(doing, answer);
        if (list.items.length > PAGE_SIZE) throw wrong(doing, 'a page has more pods than were asked for');
        yield list.items.map(({ metadata }) => decodeMeta(doing, metadata));
        next = list.continue;
        if (next === undefined) return;
      }
      throw wrong(doing, `there are more than ${MAX_PAGES * PAGE_SIZE} pods`);
    },

    async evict({ namespace, name, uid }, signal) {
      const body = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { namespace, name },
        deleteOptions: { preconditions: { uid } },
      };
      const path = objectPath(PODS, { namespace, name }, 'eviction');
      const asked = { isRepeated: false, maxBody: MAX_BODY };
      try {
        await requests.sendForJson({ doing: 'evicting a pod', method: 'POST', path, body, ...asked, signal });
        return { kind: 'accepted' };
      } catch (error) {
        if (!(error instanceof KubeError) || error.said === undefined) throw error;
        if (error.status === 404 || error.status === 409) return { kind: 'gone' };
        if (error.status === 401) throw error;
        return { kind: 'refused', said: error.said };
      }
    },
  };
}

/** Does not trust the metadata, because a workload cluster's API server may answer anything. */
function decodeMeta(doing: string, metadata: unknown): ObjectMeta {
  const decoded = decode(ObjectMeta, metadata);
  if (isLeft(decoded)) throw wrong(doing, describeProblems(decoded.left));
  return decoded.right;
}

const wrong = (doing: string, problem: string): KubeError =>
  new KubeError(`${doing}: ${problem}`, { status: 0, reason: 'Undecodable' });
