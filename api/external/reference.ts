import { object, optional, string } from '../schema/field.ts';
import type { TypeOf } from '../schema/field.ts';

/** A reference to a Kubernetes object, without an API version: the object is read in a version that its CRD serves. */
export interface ObjectReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/**
 * An object reference as Cluster API stores it: with `apiVersion` and `namespace` in its v1beta1 API, with `apiGroup`
 * alone in its v1beta2 API.
 */
export const RawReference = object({
  apiVersion: optional(string()),
  apiGroup: optional(string()),
  kind: optional(string()),
  name: optional(string()),
  namespace: optional(string()),
});
export interface RawReference extends TypeOf<typeof RawReference> {}

/**
 * Converts a stored object reference. `namespace` is the namespace of the referring object. Returns `undefined` if the
 * reference is absent, or has no kind or no name.
 */
export const toReference = (raw: RawReference | undefined, namespace: string): ObjectReference | undefined => {
  if (raw?.kind === undefined || raw.kind === '' || raw.name === undefined || raw.name === '') return undefined;
  const group = raw.apiGroup ?? groupOf(raw.apiVersion ?? '');
  return { group, kind: raw.kind, name: raw.name, namespace: raw.namespace || namespace };
};

/** The API group in an apiVersion such as `apps/v1`. The apiVersion of the core group, `v1`, gives `''`. */
const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
