import { hash } from 'node:crypto';
import { KubeError, type KubeObject } from 'controller-runtime/client';
import { applyMergePatch, isRecord, type UnknownRecord } from 'controller-runtime/json';

/** The objects of the API server, each under its path, for example `awsfargateprofiles/web`. */
export type Objects = Readonly<Record<string, KubeObject | undefined>>;

export type ApiRequest = { readonly to: 'api'; readonly path: string } & (
  | { readonly verb: 'get' }
  | { readonly verb: 'list'; readonly labelSelector?: string | undefined }
  | { readonly verb: 'delete'; readonly uid: string }
  | { readonly verb: 'patch'; readonly patch: UnknownRecord; readonly subresource?: 'status' | undefined }
);

/** The answer to a request, as JSON, so that the model can run a reconcile again with the same answers. */
export type ApiAnswer =
  | { readonly value: KubeObject | readonly KubeObject[] | null }
  | { readonly error: { readonly status: number; readonly reason: string } };

/**
 * The time of all deletions and of all changes of conditions. No decision of the controller depends on when a condition
 * changed.
 */
const ONE_TIME = '2026-01-01T00:00:00Z';

/** Answers a request of a reconcile, and returns the objects after it. */
export function answerOfApi(objects: Objects, request: ApiRequest): readonly [Objects, ApiAnswer] {
  const { path } = request;
  const object = objects[path];
  switch (request.verb) {
    case 'get':
      return [objects, { value: object ?? null }];
    case 'list': {
      const [, label, value] = /^(.+)!=(.+)$/.exec(request.labelSelector ?? '') ?? [];
      const all = Object.entries(objects).flatMap(([each, found]) =>
        each.startsWith(`${path}/`) && found !== undefined ? [found] : [],
      );
      const isSelected = ({ metadata }: KubeObject): boolean =>
        label === undefined || metadata.labels?.[label] !== value;
      return [objects, { value: all.filter(isSelected) }];
    }
    case 'delete':
      if (object === undefined) return [objects, { value: null }];
      if (object.metadata.uid !== request.uid) return [objects, refused(409, 'Conflict')];
      return [withDeletion(objects, path), { value: null }];
    case 'patch': {
      if (object === undefined) return [objects, refused(404, 'NotFound')];
      const { metadata = {}, ...rest } = request.patch;
      const { resourceVersion, ...changed } = isRecord(metadata) ? metadata : {};
      if (resourceVersion !== object.metadata.resourceVersion) return [objects, refused(409, 'Conflict')];
      const isStatus = request.subresource === 'status';
      const patched = applyMergePatch(
        object,
        isStatus ? { status: rest['status'] ?? {} } : { metadata: changed },
      ) as KubeObject;
      const [before, after] = [object, patched].map(({ metadata: { finalizers = [] } }) => finalizers);
      const isNew = after?.some((each) => before?.includes(each) !== true) === true;
      if (object.metadata.deletionTimestamp !== undefined && isNew) return [objects, refused(422, 'Invalid')];
      const written = stored(patched);
      return [collected({ ...objects, [path]: written }, path), { value: written }];
    }
  }
}

export const kubeErrorOf = ({ status, reason }: { readonly status: number; readonly reason: string }): KubeError =>
  new KubeError(`the API server of the model: ${reason}`, { status, reason });

/** Returns the objects after a delete request. An object without finalizers is removed immediately. */
export function withDeletion(objects: Objects, path: string): Objects {
  const object = objects[path];
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return objects;
  const metadata = {
    ...object.metadata,
    deletionTimestamp: ONE_TIME,
    generation: (object.metadata.generation ?? 1) + 1,
  };
  return collected({ ...objects, [path]: stored({ ...object, metadata }) }, path);
}

/** Returns the objects after a change by another client. A new spec gets a new generation. */
export function withChange(objects: Objects, path: string, patch: UnknownRecord): Objects {
  const object = objects[path];
  if (object === undefined) return objects;
  const changed = applyMergePatch(object, patch) as KubeObject;
  const isSpecNew = JSON.stringify(sorted(changed['spec'])) !== JSON.stringify(sorted(object['spec']));
  const generation = (object.metadata.generation ?? 1) + (isSpecNew ? 1 : 0);
  const metadata = { ...changed.metadata, generation };
  return collected({ ...objects, [path]: stored({ ...changed, metadata }) }, path);
}

function collected(objects: Objects, path: string): Objects {
  const { deletionTimestamp, finalizers = [] } = objects[path]?.metadata ?? {};
  if (deletionTimestamp === undefined || finalizers.length > 0) return objects;
  const { [path]: _gone, ...others } = objects;
  return others;
}

/**
 * The object as the API server stores it. Its resourceVersion is a hash of its content, so that two ways to the same
 * content lead to the same state of the model.
 */
export function stored(object: KubeObject): KubeObject {
  const { resourceVersion: _former, ...metadata } = object.metadata;
  const status = isRecord(object['status']) ? object['status'] : undefined;
  const conditions = Array.isArray(status?.['conditions'])
    ? status['conditions'].map((each: unknown) => ({ ...(isRecord(each) && each), lastTransitionTime: ONE_TIME }))
    : undefined;
  const content = sorted({
    ...object,
    metadata,
    ...(status !== undefined && { status: { ...status, ...(conditions && { conditions }) } }),
  }) as KubeObject;
  const resourceVersion = `v${hash('md5', JSON.stringify(content), 'base64url')}`;
  return { ...content, metadata: { ...content.metadata, resourceVersion } };
}

const refused = (status: number, reason: string): ApiAnswer => ({ error: { status, reason } });

/** Sorts the fields, and omits undefined ones. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .flatMap((key) => (value[key] === undefined ? [] : [[key, sorted(value[key])]])),
  );
}
