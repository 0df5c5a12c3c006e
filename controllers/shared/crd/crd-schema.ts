import type { KubeObject } from 'controller-runtime/client';
import { fieldAt, isRecord } from 'controller-runtime/json';
import { crd } from '../../../api/v1beta2/crd.ts';
import { PROVIDER_LABEL, VERSION, GROUP, KIND } from '../../../api/v1beta2/index.ts';

const PRESERVES = 'x-kubernetes-preserve-unknown-fields';

export type SchemaComparison =
  | { readonly kind: 'ours' }
  /** `provider`: the value of the CRD's provider label. `missing`: paths of fields, such as `spec.deletionPolicy`. */
  | { readonly kind: 'foreign'; readonly provider: string | undefined; readonly missing: readonly string[] };

/**
 * Compares the whole schema. If the CRD lacks a field, the API server drops the field from objects that are read, and
 * from the stored object at the next write:
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning
 */
export function compareSchema(served: KubeObject): SchemaComparison {
  const [theirs, ours] = [servedSchemaOf(served), servedSchemaOf(crd)];
  const missing = theirs === undefined ? [VERSION] : missingParts(theirs, ours);
  return missing.length === 0
    ? { kind: 'ours' }
    : { kind: 'foreign', provider: served.metadata.labels?.[PROVIDER_LABEL], missing };
}

function missingParts(theirs: unknown, ours: unknown): readonly string[] {
  if (fieldAt(theirs, PRESERVES) === true) return [];
  return ['spec', 'status'].flatMap((part) => missingFields(propertyOf(theirs, part), propertyOf(ours, part), part));
}

const propertyOf = (schema: unknown, name: string): unknown => fieldAt(fieldAt(schema, 'properties'), name);

/** If a field is missing entirely, returns its own path and not those of its children. */
function missingFields(theirs: unknown, ours: unknown, path: string): readonly string[] {
  if (theirs === undefined) return [path];
  if (fieldAt(theirs, PRESERVES) === true) return [];
  const fields = fieldAt(ours, 'properties');
  const inFields = Object.entries(isRecord(fields) ? fields : {}).flatMap(([name, field]) =>
    missingFields(propertyOf(theirs, name), field, `${path}.${name}`),
  );
  const items = fieldAt(ours, 'items');
  return items === undefined ? inFields : [...inFields, ...missingFields(fieldAt(theirs, 'items'), items, `${path}[]`)];
}

/** Returns the paths of the fields directly in spec and status, such as `spec.roleARN`, that `other` lacks. */
export function fieldsDroppedBy(other: KubeObject): readonly string[] {
  const [theirSchema, ourSchema] = [servedSchemaOf(other), servedSchemaOf(crd)];
  return ['spec', 'status'].flatMap((part) => {
    const properties = fieldAt(propertyOf(ourSchema, part), 'properties');
    const names = isRecord(properties) ? Object.keys(properties) : [];
    return names.filter((name) => !keepsField(theirSchema, [part, name])).map((name) => `${part}.${name}`);
  });
}

/** Returns `undefined` if the CRD does not serve this provider's version. */
function servedSchemaOf(definition: Readonly<Record<string, unknown>>): unknown {
  const versions = fieldAt(definition['spec'], 'versions');
  const served: unknown = Array.isArray(versions)
    ? versions.find((version: unknown) => fieldAt(version, 'name') === VERSION && fieldAt(version, 'served') === true)
    : undefined;
  return fieldAt(fieldAt(served, 'schema'), 'openAPIV3Schema');
}

function keepsField(schema: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined || fieldAt(schema, PRESERVES) === true) return schema !== undefined;
  return keepsField(propertyOf(schema, name), rest);
}

/** CAPA serves these webhooks for AWSFargateProfiles only while its feature gate EKSFargate is on. */
export const CAPA_WEBHOOKS: readonly string[] = ['default', 'validation'].map(
  (what) => `${what}.${KIND.toLowerCase()}.${GROUP}`,
);
