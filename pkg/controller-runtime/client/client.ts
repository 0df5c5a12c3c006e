import { isRecord } from '../json/record.ts';
import type { Clock } from '../env/clock.ts';
import { LIST_DEADLINE, ApiRequests } from './requests/api-requests.ts';
import { decodeList, decodeObject } from './requests/decode.ts';
import { isStatus } from './requests/error-response.ts';
import { isNotFound, KubeError } from './errors.ts';
import { keyText } from './object-key.ts';
import { collectionPath, objectPath, query, resourceName } from './requests/paths.ts';
import type { Transport } from './transport.ts';
import type { CreateOptions, KubeClient, KubeObject, ObjectKey, Resource } from './types.ts';
import { watchEvents } from './requests/watch-stream.ts';

export interface KubeClientOptions {
  readonly transport: Transport;
  readonly clock: Clock;
}

export function createKubeClient({ transport, clock }: KubeClientOptions): KubeClient {
  const requests = new ApiRequests(transport, clock);
  const patch = (doing: string, path: string, type: string, body: unknown, signal: AbortSignal): Promise<KubeObject> =>
    requests.sendForObject({ doing, method: 'PATCH', path, body, contentType: `application/${type}`, signal });
  return {
    async get(resource, key, { signal }) {
      const doing = describeRequest('getting', resource, key);
      const path = objectPath(resource, key);
      return undefinedIfNotFound(() => requests.sendForObject({ doing, method: 'GET', path, signal }));
    },

    async list(resource, options) {
      const doing = `listing ${resourceName(resource)}`;
      const { namespace = '', labelSelector, fieldSelector, limit, signal } = options;
      const parameters = query({ labelSelector, fieldSelector, limit, continue: options.continue });
      const path = collectionPath(resource, namespace) + parameters;
      const list = await requests.sendForJson({ doing, method: 'GET', path, limit: LIST_DEADLINE, signal });
      return decodeList(doing, list);
    },

    watch(resource, options) {
      const doing = `watching ${resourceName(resource)}`;
      const { namespace = '', labelSelector, fieldSelector, resourceVersion, timeoutSeconds, signal } = options;
      const parameters = query({
        watch: 'true',
        allowWatchBookmarks: 'true',
        labelSelector,
        fieldSelector,
        resourceVersion,
        timeoutSeconds,
      });
      return watchEvents({ transport, clock, doing, path: collectionPath(resource, namespace) + parameters, signal });
    },

    async create(resource, namespace, object, options) {
      const doing = `creating ${resourceName(resource)}`;
      const path = collectionPath(resource, namespace) + writeQuery(options);
      const answer = await requests.sendForJson({ doing, method: 'POST', path, body: object, signal: options.signal });
      return decodeObject(doing, options.dryRun === true ? withVersion(answer) : answer);
    },

    async review(resource, object, { signal }) {
      const doing = `creating ${resourceName(resource)}`;
      return requests.sendForJson({ doing, method: 'POST', path: collectionPath(resource, ''), body: object, signal });
    },

    async mergePatch(resource, key, body, { subresource, ...options }) {
      const verb = subresource === undefined ? 'patching' : `patching ${subresource} of`;
      const path = objectPath(resource, key, subresource) + writeQuery(options);
      return patch(describeRequest(verb, resource, key), path, 'merge-patch+json', body, options.signal);
    },

    async jsonPatch(resource, key, operations, { signal }) {
      const doing = describeRequest('patching', resource, key);
      return patch(doing, objectPath(resource, key), 'json-patch+json', operations, signal);
    },

    async apply(resource, key, object, { fieldManager, signal }) {
      const path = objectPath(resource, key) + query({ fieldManager, force: 'true' });
      // The body is JSON, which is valid YAML.
      return patch(describeRequest('applying', resource, key), path, 'apply-patch+yaml', object, signal);
    },

    async delete(resource, key, { uid, signal }) {
      const doing = describeRequest('deleting', resource, key);
      const path = objectPath(resource, key);
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } };
      return undefinedIfNotFound(async () => {
        const left = await requests.sendForJson({ doing, method: 'DELETE', path, body, signal });
        if (isStatus(left)) return undefined;
        const object = decodeObject(doing, left);
        // For some built-in kinds the API server answers with the deleted object and not with a Status.
        return object.metadata.deletionTimestamp === undefined ? undefined : object;
      });
    },

    async discover(path, { signal }) {
      try {
        return await requests.sendForJson({ doing: `discovering ${path}`, method: 'GET', path, signal });
      } catch (error) {
        if (error instanceof KubeError && error.status === 404) return undefined;
        throw error;
      }
    },
  };
}

/** Adds a resourceVersion, because the API server omits that of an object that it does not store. */
const withVersion = (answer: unknown): unknown =>
  isRecord(answer) && isRecord(answer['metadata'])
    ? { ...answer, metadata: { resourceVersion: '0', ...answer['metadata'] } }
    : answer;

const writeQuery = ({ dryRun = false, isStrict = false }: CreateOptions): string =>
  query({ dryRun: dryRun ? 'All' : undefined, fieldValidation: isStrict ? 'Strict' : undefined });

const describeRequest = (doing: string, resource: Resource, key: ObjectKey): string =>
  `${doing} ${resourceName(resource)} ${keyText(key)}`;

async function undefinedIfNotFound<A>(request: () => Promise<A>): Promise<A | undefined> {
  try {
    return await request();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
