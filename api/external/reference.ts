import { object, optional, string } from '../schema/field.ts';
import type { TypeOf } from '../schema/field.ts';

/** A reference to another object, in whichever version its CRD has now. */
export interface ObjectReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** v1beta1 of Cluster API writes `apiVersion` and `namespace`, v1beta2 `apiGroup` and neither of them. */
export const RawReference = object({
  apiVersion: optional(string()),
  apiGroup: optional(string()),
  kind: optional(string()),
  name: optional(string()),
  namespace: optional(string()),
});
export interface RawReference extends TypeOf<typeof RawReference> {}

/** `undefined` for no reference and for one that names nothing. */
export const toReference = (raw: RawReference | undefined, namespace: string): ObjectReference | undefined => {
  if (raw?.kind === undefined || raw.kind === '' || raw.name === undefined || raw.name === '') return undefined;
  const group = raw.apiGroup ?? groupOf(raw.apiVersion ?? '');
  return { group, kind: raw.kind, name: raw.name, namespace: raw.namespace || namespace };
};

/** `group/version`, or `version` alone for the core group. */
const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
